"""How a student moves: the choices of the field `dynamics`, and the closed forms that they rest on (4.2, 4.3, 6.1).

In reading order: `reduced` (the two-scalar recursion), `limit` (its continuous limit, t_1, T*), `follow` (the recursion
followed, and the steps of the records), `population` (loss and gradient in full matrices), `descent` (recursion,
population gradient descent and online SGD, step by step).
"""
