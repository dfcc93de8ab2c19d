/* A page that is opened from disk may not start a worker. The search then runs in a hidden frame of the page instead. */
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => later(data, (copy) => this.onmessage && this.onmessage({ data: copy }));
      this.ready = new Promise((resolve) => {
        const script = inside.document.createElement("script");
        script.src = new URL(url, document.baseURI).href;
        script.onload = resolve;
        script.onerror = () => this.onerror && this.onerror(new Event("error"));
        inside.document.body.append(script);
      });
    }
    postMessage(data) {
      const inside = this.frame.contentWindow;
      this.ready.then(() => later(data, (copy) => inside.onmessage({ data: copy })));
    }
    terminate() {
      this.frame.remove();
    }
  };
  /* A worker is given copies, after the caller has finished. */
  function later(data, receive) {
    const copy = structuredClone(data);
    setTimeout(() => receive(copy));
  }
}
