"""The look of the report: one style sheet for screen, phone and paper, nothing from the network."""

STYLE = """
:root { --holds: #1d7a3a; --fails: #b02a2d; --inconclusive: #8a6100; --line: #d9dce1; --ink: #1c2430; --quiet: #5a6472;
  --paper: #f4f6f8; --measured: #1f5fa8; --band: #cfe8d6; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); margin: 0 auto; max-width: 62rem; padding: 1.5rem;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { margin: 2.6rem 0 1rem; padding-bottom: .2rem; border-bottom: 2px solid var(--line); }
h3 { margin: 0; font-size: 1.05rem; overflow-wrap: anywhere; } p { margin: .5rem 0; }
code { font-size: .86em; overflow-wrap: anywhere; } a { color: #17508f; }
.quiet { color: var(--quiet); font-size: .9rem; }
.holds { color: var(--holds); } .fails { color: var(--fails); } .inconclusive { color: var(--inconclusive); }
.badge { font-weight: 650; white-space: nowrap; }
.odd, .alarm { background: #fdeeee; } .alarm { border-left: 4px solid var(--fails); padding: .5rem .9rem; }
.guide { background: var(--paper); border-radius: .5rem; padding: .7rem 1rem; margin: 1rem 0 1.4rem; font-size: .92rem;
  display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1rem; }
.guide dt { font-weight: 650; } .guide dd { margin: 0; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--quiet); } tr { break-inside: avoid; } thead { display: table-header-group; }
.number { font-variant-numeric: tabular-nums; white-space: nowrap; } td:first-child { overflow-wrap: anywhere; }
.claim { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem 1.2rem; margin: 1rem 0;
  break-inside: avoid; }
.claim header { display: flex; flex-wrap: wrap; gap: .1rem .8rem; align-items: baseline; margin-bottom: .4rem; }
.claim .parts { margin: .5rem 0; padding-left: 1.1rem; font-size: .92rem; } .claim details .parts { margin-top: .2rem; }
.controls { border-top: 1px solid var(--line); margin-top: .8rem; padding-top: .3rem; }
.strip { display: block; width: 100%; height: 52px; margin: .9rem 0 0; overflow: visible; }
.strip text { font-size: 12px; fill: var(--quiet); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1.3rem; margin: .2rem 0 .8rem; padding: 0;
  font-size: .88rem; color: var(--quiet); }
.legend i { display: inline-block; margin-right: .4rem; vertical-align: baseline; }
.legend .band { width: 1.1rem; height: .7rem; background: var(--band); }
.legend .line { width: 1.1rem; border-top: 2px dashed var(--holds); vertical-align: .28rem; }
.legend .dot { width: .6rem; height: .6rem; border-radius: 50%; background: var(--measured); }
.legend .diamond { width: .5rem; height: .5rem; border: 1.6px solid var(--fails); transform: rotate(45deg); }
figure { margin: 1.4rem 0 1rem; break-inside: avoid; }
figure img { display: block; max-width: 100%; height: auto; margin-bottom: .4rem; }
figcaption { font-size: .92rem; }
.command { background: var(--paper); padding: .1rem .4rem; border-radius: .3rem; box-decoration-break: clone;
  -webkit-box-decoration-break: clone; }
@media screen and (max-width: 44rem) {
  body { padding: 1rem; } .claim { padding: .8rem .9rem; }
  .guide { display: block; } .guide dd { margin-bottom: .5rem; }
  thead { display: none; } tr { display: block; padding: .5rem .3rem; border-bottom: 1px solid var(--line); }
  td { display: block; border: 0; padding: 0; } td:first-child { font-weight: 600; }
  td[data-label]::before { content: attr(data-label) ": "; color: var(--quiet); }
}
@media print {
  @page { margin: 14mm; }
  html { font-size: 12.5px; } body { max-width: none; padding: 0; } a { color: inherit; text-decoration: none; }
  h2 { break-after: avoid; margin-top: 1.6rem; } figure img { max-height: 8cm; }
  summary { display: none; } details::details-content { content-visibility: visible; }
}
"""
