"""Boolean functions as reduced, ordered decision diagrams: equal functions are the same number.

Made for counters: the first variable is the lowest bit, so a sum with a constant has one or two
nodes for each bit.
"""

FALSE, TRUE = 0, 1
LAST = 1 << 30  # the variable of the constants


class Diagrams:
    def __init__(self):
        self.nodes = [(LAST, 0, 0), (LAST, 1, 1)]  # variable, if it is 0, if it is 1
        self.numbers = {}
        self.known = {}

    def node(self, variable, low, high):
        if low == high:
            return low
        key = (variable, low, high)
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.nodes)
            self.nodes.append(key)
        return found

    def variable(self, number):
        return self.node(number, FALSE, TRUE)

    def split(self, function, variable):
        at, low, high = self.nodes[function]
        return (low, high) if at == variable else (function, function)

    def combined(self, operation, a, b):
        """An operation of this class, by the values of the first variable of the two."""
        key = (operation.__name__, a, b) if a < b else (operation.__name__, b, a)
        found = self.known.get(key)
        if found is None:
            top = min(self.nodes[a][0], self.nodes[b][0])
            pairs = zip(self.split(a, top), self.split(b, top), strict=True)
            found = self.known[key] = self.node(top, *(operation(*pair) for pair in pairs))
        return found

    def both(self, a, b):
        if a == b or b == TRUE:
            return a
        if a == TRUE:
            return b
        if a == FALSE or b == FALSE:
            return FALSE
        return self.combined(self.both, a, b)

    def sum(self, a, b):
        """The exclusive or."""
        if a == b:
            return FALSE
        if a == FALSE:
            return b
        if b == FALSE:
            return a
        return self.combined(self.sum, a, b)

    def opposite(self, a):
        return self.sum(a, TRUE)

    def either(self, a, b):
        return self.sum(self.sum(a, b), self.both(a, b))

    def within(self, a, care):
        """The generalized cofactor of Coudert and Madre: two functions have the same one if and only if
        they are equal wherever `care`, which is not FALSE, holds."""
        if care == TRUE or a <= TRUE:
            return a
        key = ("within", a, care)
        found = self.known.get(key)
        if found is None:
            top = min(self.nodes[a][0], self.nodes[care][0])
            (a0, a1), (c0, c1) = self.split(a, top), self.split(care, top)
            if c0 == FALSE:
                found = self.within(a1, c1)
            elif c1 == FALSE:
                found = self.within(a0, c0)
            else:
                found = self.node(top, self.within(a0, c0), self.within(a1, c1))
            self.known[key] = found
        return found

    def of_zeros(self, a):
        """The value if all variables are 0."""
        while a > TRUE:
            a = self.nodes[a][1]
        return a

    def value(self, a, bits):
        """The value if variable i is bit i of a number."""
        while a > TRUE:
            variable, low, high = self.nodes[a]
            a = high if bits >> variable & 1 else low
        return a
