#!/usr/bin/env python3
"""Tests of the analysis of machine code, on short programs with and without leaks."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bench" / "gpu_model"))
import cubin
import dataflow
import memory
import sass
import values

PARAMETERS = 0x210
IN, OUT, MESSAGES, KEYS, SCRATCH = (PARAMETERS + at for at in (0, 8, 16, 40, 48))
COUNT, TILES = PARAMETERS + 24, PARAMETERS + 32


def function(text, name="ecb_encrypt", parameter_bytes=68):
    """An entry from lines as nvdisasm prints them; `@name` before a line is a label."""
    instructions, labels = [], {}
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.endswith(":"):
            labels[line[:-1]] = f"{16 * len(instructions):#x}"
            continue
        guard, line = line.split(None, 1) if line.startswith("@") else ("", line)
        opcode, _, operands = line.partition(" ")
        fields = {"opcode": opcode, "operands": operands.replace(" ", "")}
        if guard:
            fields["predicate"] = guard
        instructions.append(fields)
    for fields in instructions:
        if fields["opcode"] in ("BRA", "BSSY", "CALL.REL.NOINC"):
            *rest, target = fields["operands"].split(",")
            fields["operands"] = ",".join([*rest, labels[target]])
    return cubin.Function(name, instructions, PARAMETERS, parameter_bytes, {}, b"", 0, 0, {})


def findings(text, secret_counter=False, **of_function):
    entry = function(text, **of_function)
    found = dataflow.Analysis(entry, memory.Memory(entry, secret_counter)).run().findings
    return [finding.what for finding in sorted(found, key=lambda finding: finding.at)]


def load(pointer, register="R4"):
    """Loads the first word that a parameter points to."""
    return f"""
        LDC.64 R2, c[0x0][{pointer:#x}]
        LDG.E {register}, desc[UR4][R2.64]
        """


def branch_on(register):
    """Ends, and where a register is not zero does so earlier."""
    return f"""
        ISETP.NE.AND P6, PT, {register}, RZ, PT
        @P6 EXIT
        EXIT
        """


def store_at(offset, condition):
    """Adds a register to the pointer to the output and stores there, if the condition holds."""
    return f"""
        LDC.64 R6, c[0x0][{OUT:#x}]
        {condition} IADD3 R10, P2, {offset}, R6, RZ
        {condition} IMAD.X R11, RZ, RZ, R7, P2
        {condition} STG.E desc[UR4][R10.64], RZ
        EXIT
        """


STACK = """
    LDC R1, c[0x0][0x28]
    VIADD R1, R1, 0xfffffff0
    """
BRANCH, ADDRESS = ["secret branch"], ["secret address"]


class Case(unittest.TestCase):
    def check(self, expected, *texts, **of_function):
        text = "\n".join(texts)
        self.assertEqual(findings(text, **of_function), expected, text)


class Secrets(Case):
    def test_decide_branches(self):
        branch = """
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 BRA end
            NOP
            end:
            EXIT
            """
        for pointer in (IN, OUT, KEYS, SCRATCH):
            self.check(BRANCH, load(pointer), branch)
        self.check([], load(MESSAGES), branch)

    def test_decide_whether_threads_exit(self):
        self.check(BRANCH, load(IN), "LOP3.LUT P0, RZ, R4, 0x1, RZ, 0xc0, !PT\n@!P0 EXIT\nEXIT")

    def test_are_addresses(self):
        text = """
            LDC.64 R6, c[0x0][0x218]
            IMAD.WIDE.U32 R6, R4, 0x4, R6
            LDG.E R8, desc[UR4][R6.64]
            STG.E desc[UR4][R6.64], RZ
            LDS R8, [R4+0x400]
            STS [R4], R8
            LDC R9, c[0x3][R4]
            EXIT
            """
        self.check(ADDRESS * 5, load(IN), text)

    def test_are_indices_of_constants(self):
        self.check(ADDRESS, load(IN), "R2UR UR6, R4\nIADD3 R8, RZ, c[0x3][UR6], RZ\nEXIT")

    def test_are_upper_halves_of_sums(self):
        for kind, upper in (("HI", "R10"), ("WIDE", "R11")):
            sums = f"MOV R8, RZ\nIMAD.{kind}.U32 R10, R12, R13, R8"
            self.check(BRANCH, load(IN, "R9"), sums, branch_on(upper))

    def test_are_upper_halves_of_addresses(self):
        text = "LDC R6, c[0x0][0x218]\nLDG.E R8, desc[UR4][R6.64]\nEXIT"
        self.check(ADDRESS, load(IN, "R7"), text)

    def test_decide_whether_memory_is_accessed(self):
        text = """
            LDC.64 R6, c[0x0][0x218]
            ISETP.GE.U32.AND P0, PT, R4, 0x5, PT
            @P0 LDG.E R8, desc[UR4][R6.64]
            @P0 STG.E desc[UR4][R6.64], RZ
            EXIT
            """
        self.check(["secret condition of an access"] * 2, load(IN), text)

    def test_select_values(self):
        text = """
            LDC.64 R6, c[0x0][0x218]
            ISETP.NE.AND P0, PT, R4, RZ, PT
            SEL R9, RZ, 0x1, P0
            @P0 LOP3.LUT R9, R9, R4, RZ, 0x3c, !PT
            STG.E desc[UR4][R6.64], R9
            EXIT
            """
        self.check([], load(IN), text)

    def test_selected_by_secrets_are_secret(self):
        text = "MOV R9, RZ\nISETP.NE.AND P0, PT, R4, RZ, PT\n@P0 MOV R9, 0x1"
        self.check(BRANCH, load(IN), text, branch_on("R9"))

    def test_come_back_from_the_stack(self):
        for place, expected in (("0x8", BRANCH), ("0x4", [])):
            text = f"STL [R1+0x8], R4\nSTL [R1+0x4], RZ\nLDL R9, [R1+{place}]"
            self.check(expected, STACK, load(IN), text, branch_on("R9"))

    def test_come_back_from_shared_memory(self):
        self.check(BRANCH, "LDS R4, [0x10]", branch_on("R4"))

    def test_come_round_a_loop(self):
        text = """
            LDC.64 R2, c[0x0][0x210]
            MOV R4, RZ
            again:
            ISETP.GE.U32.AND P0, PT, R4, 0x10, PT
            @P0 EXIT
            LDG.E R4, desc[UR4][R2.64]
            BRA again
            """
        self.check(BRANCH, text)

    def test_written_to_public_memory(self):
        text = "LDC.64 R6, c[0x0][0x220]\nSTG.E desc[UR4][R6.64+0x10], R4\nEXIT"
        self.check(["secret written to public memory"], load(IN), text)

    def test_in_the_argument_single(self):
        single = f"LDC R4, c[0x0][{PARAMETERS + 68:#x}]"
        self.check(BRANCH, single, branch_on("R4"), parameter_bytes=548)

    def test_in_other_bits_of_a_register(self):
        for bits, expected in (("0x4", []), ("0x6", BRANCH)):
            text = f"""
                LOP3.LUT R4, R4, 0xfffffffb, RZ, 0xc0, !PT
                LOP3.LUT P0, RZ, R4, {bits}, RZ, 0xc0, !PT
                @P0 EXIT
                EXIT
                """
            self.check(expected, load(IN), text)


class ConditionalPointers(Case):
    def test_replace_older_secrets(self):
        text = """
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 IMAD R8, R4, 0x10, RZ
            @P0 LDC.64 R6, c[0x0][0x218]
            @P0 IADD3 R8, P1, R8, R6, RZ
            @P0 IMAD.X R9, RZ, RZ, R7, P1
            @P0 STG.E desc[UR4][R8.64], RZ
            EXIT
            """
        self.check([], load(IN, "R8"), load(KEYS, "R9"), load(MESSAGES), text)

    def test_that_are_used_under_another_condition(self):
        text = """
            ISETP.NE.AND P0, PT, R4, RZ, PT
            ISETP.NE.AND P1, PT, R4, 0x5, PT
            LDC.64 R6, c[0x0][0x218]
            @P0 MOV R8, 0x10
            IADD3 R10, P2, R8, R6, RZ
            IMAD.X R11, RZ, RZ, R7, P2
            @P1 STG.E desc[UR4][R10.64], RZ
            EXIT
            """
        self.check(ADDRESS, load(IN, "R8"), load(MESSAGES), text)

    def test_that_the_stack_keeps(self):
        for pointer, expected in ((OUT, []), (COUNT, ADDRESS)):
            text = f"""
                ISETP.NE.AND P0, PT, R4, RZ, PT
                @P0 LDC.64 R6, c[0x0][{pointer:#x}]
                @P0 STL.64 [R1], R6
                ISETP.NE.AND P1, PT, R4, 0x5, PT
                LDL.64 R10, [R1]
                @P1 STG.E desc[UR4][R10.64], RZ
                EXIT
                """
            stored = "STL [R1], R8\nSTL [R1+0x4], R8"
            self.check(expected, STACK, load(IN, "R8"), stored, load(MESSAGES), text)

    def used_later(self, *lines, computed="@P0"):
        """An offset replaces a secret under P0, and is added to a pointer when P1 holds."""
        return findings(
            load(IN, "R8")
            + load(KEYS, "R9")
            + load(MESSAGES)
            + f"""
            ISETP.NE.AND P0, PT, R4, 0x7, PT
            {computed} IMAD R8, R4, 0x10, RZ
            {computed} MOV R9, RZ
            """
            + "\n".join(lines)
            + """
            @P1 LDC.64 R6, c[0x0][0x218]
            @P1 IADD3 R10, P2, R8, R6, RZ
            @P1 IMAD.X R11, R9, 0x1, R7, P2
            @P1 STG.E desc[UR4][R10.64], RZ
            EXIT
            """
        )

    def test_whose_condition_a_register_has_kept(self):
        for mask, test in (
            ("0x1", ("ISETP.NE.AND P1, PT, R5, RZ, PT",)),
            ("0x1", ("MOV R12, R5", "ISETP.NE.AND P1, PT, R12, RZ, PT")),
            ("0x1", ("STL [R1], R5", "LDL R12, [R1]", "ISETP.NE.AND P1, PT, R12, RZ, PT")),
            ("0x9", ("LOP3.LUT P1, RZ, R5, 0x1, RZ, 0xc0, !PT",)),
        ):
            for kept, right in ((f"P2R R5, PR, RZ, {mask}", True), ("MOV R5, R4", False)):
                stack = "LDC R1, c[0x0][0x28]"
                found = self.used_later(stack, kept, "ISETP.NE.AND P0, PT, R0, RZ, PT", *test)
                self.assertEqual(found, [] if right else ADDRESS, (kept, test))

    def test_whose_condition_may_be_another(self):
        keep, other = "P2R R5, PR, RZ, 0x1", "ISETP.NE.AND P0, PT, R0, RZ, PT"
        test, bit = "ISETP.NE.AND P1, PT, R5, RZ, PT", "LOP3.LUT P1, RZ, R5, 0x1, RZ, 0xc0, !PT"
        second_bit = bit.replace("0x1", "0x2")
        set_bit = "@P0 LOP3.LUT R5, R5, 0x1, RZ, 0xfc, !PT"
        self.assertEqual(self.used_later(keep, other, test), [])
        for lines in (
            (keep, other, f"@P3 {test}"),
            (keep, other, f"@P3 {bit}"),
            (keep, other, "@P3 MOV R12, R5", test.replace("R5", "R12")),
            (keep, other, "@P3 R2P PR, R5, 0x1", keep, test),
            (keep, other, "ISETP.NE.OR P1, PT, R5, RZ, PT"),
            (keep, other, "ISETP.EQ.AND P1, PT, R5, RZ, PT"),
            ("P2R R12, PR, RZ, 0x9", "IMAD.MOV.U32 R5, RZ, RZ, -R12", other, second_bit),
            # Two bits, of which one is not known any more.
            ("P2R R5, PR, RZ, 0x5", "IADD3 R12, P2, R0, R0, RZ", other, test),
            ("P2R R5, PR, RZ, 0x9", other, test),
            (keep, "LOP3.LUT R5, R5, 0x2, RZ, 0xfc, !PT", other, test),
            (keep, "@P3 BRA skip", "P2R R5, PR, RZ, 0x9", "skip:", other, test),
            ("LOP3.LUT R5, R4, 0xfffffffe, RZ, 0xc0, !PT", set_bit, other, test),
            ("@P3 LOP3.LUT R5, R5, 0xfffffffe, RZ, 0xc0, !PT", set_bit, other, bit),
        ):
            self.assertEqual(self.used_later(*lines), ADDRESS, lines)

    def test_whose_condition_is_in_one_bit(self):
        for cleared, place, bit, right in (
            ("0xffffffef", "0x10", "0x10", True),
            ("0xffffffef", "0x10", "0x20", False),
            ("0xffffffff", "0x10", "0x10", False),
        ):
            found = self.used_later(
                f"LOP3.LUT R5, R5, {cleared}, RZ, 0xc0, !PT",
                f"@P0 LOP3.LUT R5, R5, {place}, RZ, 0xfc, !PT",
                "ISETP.NE.AND P0, PT, R0, RZ, PT",
                f"LOP3.LUT P1, RZ, R5, {bit}, RZ, 0xc0, !PT",
            )
            self.assertEqual(found, [] if right else ADDRESS, (cleared, bit))

    def test_whose_condition_is_computed_again(self):
        again = "ISETP.NE.AND P1, PT, R4, 0x7, PT"
        for lines, right in (
            ((again,), True),
            (("IADD3 R4, R4, 0x1, RZ", again), False),
            (("ISETP.EQ.AND P1, PT, R4, 0x7, PT",), False),
            (("ISETP.NE.AND P1, PT, R4, 0x8, PT",), False),
        ):
            self.assertEqual(self.used_later(*lines), [] if right else ADDRESS, lines)
        self.assertEqual(self.used_later(again, computed="@!P0"), ADDRESS)

    def test_that_secrets_replace_again(self):
        again = "ISETP.NE.AND P1, PT, R4, 0x7, PT"
        found = self.used_later("LDC.64 R2, c[0x0][0x210]", "LDG.E R8, desc[UR4][R2.64]", again)
        self.assertEqual(found, ADDRESS)

    def test_whose_condition_a_routine_computes_twice(self):
        routine = "routine:\nISETP.NE.AND P0, PT, R4, RZ, PT\nRET.REL.NODEC R20, 0x0"
        for call, expected in (("NOP", []), ("CALL.REL.NOINC routine", ADDRESS)):
            text = f"""
                MOV R20, 0x60
                CALL.REL.NOINC routine
                @P0 MOV R8, RZ
                IADD3 R4, R4, 0x1, RZ
                MOV R20, 0xa0
                {call}
                """
            store = store_at("R8", "@P0")
            self.check(expected, load(IN, "R8"), load(MESSAGES), text, store, routine)

    def used_with_p0(self, *lines):
        """An offset that may have replaced a secret is added to a pointer if P0 holds."""
        return findings("\n".join([load(IN, "R8"), load(MESSAGES), *lines, store_at("R8", "@P0")]))

    def test_whose_condition_is_a_carry(self):
        lines = ("IADD3 R5, P0, R4, R4, RZ", "@P0 MOV R8, RZ")
        self.assertEqual(self.used_with_p0(*lines), [])
        found = self.used_with_p0(*lines, "IADD3 R5, P0, R5, R4, RZ")
        self.assertEqual(found, ADDRESS)

    def test_whose_condition_changes_on_one_way(self):
        lines = ("ISETP.NE.AND P0, PT, R4, RZ, PT", "@P0 MOV R8, RZ", "@P1 BRA skip", "skip:")
        self.assertEqual(self.used_with_p0(*lines), [])
        for other in ("ISETP.NE.AND P0, PT, R4, 0x5, PT", "LDG.E R8, desc[UR4][R2.64]"):
            changed = (*lines[:3], "LDC.64 R2, c[0x0][0x210]", other, "skip:")
            self.assertEqual(self.used_with_p0(*changed), ADDRESS, other)

    def test_whose_condition_changes_in_a_loop(self):
        text = f"""
            LDC.64 R2, c[0x0][{IN:#x}]
            LDC.64 R12, c[0x0][{MESSAGES:#x}]
            LDC.64 R6, c[0x0][{OUT:#x}]
            P2R R5, PR, RZ, 0x0
            again:
            LDG.E R4, desc[UR4][R12.64]
            ISETP.NE.AND P0, PT, R4, RZ, PT
            LDG.E R8, desc[UR4][R2.64]
            @P0 MOV R8, RZ
            P2R R5, PR, RZ, 0x1
            {{last}}
            IADD3 R12, R12, 0x40, RZ
            BRA again
            """
        use = """
            ISETP.NE.AND P1, PT, R5, RZ, PT
            @P1 IADD3 R10, P2, R8, R6, RZ
            @P1 IMAD.X R11, RZ, RZ, R7, P2
            @P1 STG.E desc[UR4][R10.64], RZ
            """
        self.assertEqual(findings(text.format(last=use)), [])
        # P0 of this round, and R8 of the last one.
        stale = "LDG.E R8, desc[UR4][R2.64]\n@P0 MOV R8, RZ\n"
        moved = text.replace("LDG.E R8, desc[UR4][R2.64]", "NOP").replace("@P0 MOV R8, RZ", "NOP")
        self.assertEqual(findings(moved.format(last=stale + use)), [])
        self.assertEqual(findings(moved.format(last=use + stale)), ADDRESS)


class PairsOfRegisters(Case):
    def found(self, line, secret, upper):
        """Whether a branch on a word of R8 is a finding if a word of R4 is secret."""
        zeros = "MOV R4, RZ\nMOV R5, RZ\nMOV R8, RZ\nMOV R9, RZ"
        branch = branch_on("R9" if upper else "R8")
        return findings("\n".join([zeros, load(IN, secret), line, branch]))

    def test_keep_their_secrets(self):
        for line in (
            "IADD.64 R8, R4, R6",
            "IADD.64 R8, R6, -R4",
            "SEL.64 R8, R4, R6, P1",
            "SEL.64 R8, R4, -0x1, P1",
            "IMNMX.U64 PT, PT, R8, R4, R6, !PT, !PT",
        ):
            for secret, upper in (("R4", True), ("R4", False), ("R5", True)):
                self.assertEqual(self.found(line, secret, upper), BRANCH, line)
        self.assertEqual(self.found("MOV.64 R8, R4", "R4", False), BRANCH)
        self.assertEqual(self.found("MOV.64 R8, R4", "R4", True), [])
        self.assertEqual(self.found("MOV.64 R8, R4", "R5", True), BRANCH)

    def test_are_compared_whole(self):
        for secret, expected in (("R4", BRANCH), ("R5", BRANCH), ("R10", [])):
            for kind in ("GE.U64", "NE.S64"):
                text = f"ISETP.{kind}.AND P0, PT, R4, RZ, PT\n@P0 EXIT\nEXIT"
                self.check(expected, load(IN, secret), text)


class OtherThreads(Case):
    def test_have_other_conditions(self):
        for line in ("VOTE.ANY R9, PT, P1", "R2UR R9, R8", "BMMA.88128.AND.POPC R9, R8, R4, R16"):
            text = f"""
                ISETP.NE.AND P0, PT, R4, RZ, PT
                @P0 MOV R8, RZ
                ISETP.NE.AND P1, PT, R8, RZ, PT
                {line}
                """
            store = store_at("R9", "@P0")
            found = findings("\n".join([load(IN, "R8"), load(MESSAGES), text, store]))
            self.assertIn("secret address", found, line)

    def test_wait_for_a_barrier_that_not_all_reach(self):
        text = f"""
            LDC.64 R2, c[0x0][{SCRATCH:#x}]
            IMAD.WIDE.U32 R2, R0, 0x10, R2
            ISETP.NE.AND P2, PT, R0, 0x5, PT
            @P2 BAR.SYNC.DEFER_BLOCKING 0x0
            LDG.E R4, desc[UR4][R2.64]
            """
        self.check(BRANCH, text, branch_on("R4"), name="gcm_finish")


class MeetingPoints(Case):
    def test_under_conditions(self):
        secret = "ISETP.NE.AND P1, PT, R4, RZ, PT\n"
        public = "ISETP.NE.AND P0, PT, R5, RZ, PT\n"
        for text in (
            secret + public + "BSSY B0, end\n@P0 BSYNC B0\n@P1 EXIT\nend:\nEXIT",
            secret + "BSSY B0, end\n@P1 BSYNC B0\nend:\nEXIT",
            secret + public + "BSSY B0, a\n@P0 BSSY B0, end\nBSYNC B0\na:\n@P1 EXIT\nend:\nEXIT",
        ):
            self.check(BRANCH, load(IN), text)


class Calls(Case):
    def test_return_to_where_a_register_says(self):
        def text(back, result):
            return f"""
                MOV R20, {back}
                MOV R4, RZ
                CALL.REL.NOINC routine
                {branch_on("R4")}
                routine:
                MOV R4, {result}
                RET.REL.NODEC R20, 0x0
                """

        self.check([], load(IN, "R9"), text("0x50", "RZ"))
        self.check(BRANCH, load(IN, "R9"), text("0x50", "R9"))
        with self.assertRaisesRegex(sass.Unknown, "returns to an unknown place"):
            findings(load(IN, "R9") + text("0x60", "RZ"))

    def test_that_go_on_from_another_place_do_not_return(self):
        text = """
            MOV R20, 0x50
            MOV R4, RZ
            CALL.REL.NOINC routine
            EXIT
            routine:
            MOV R20, RZ
            RET.REL.NODEC R20, 0x0
            """
        with self.assertRaisesRegex(sass.Unknown, "returns to an unknown place"):
            findings(load(IN, "R9") + text)

    def test_without_a_place_to_return_to_are_branches(self):
        text = f"""
            LDC R3, c[0x0][{COUNT:#x}]
            MOV R4, RZ
            again:
            IADD3 R3, R3, 0x1, RZ
            ISETP.NE.AND P0, PT, R3, RZ, PT
            @P0 CALL.REL.NOINC out
            BRA again
            out:
            IADD3 R5, R5, 0x1, RZ
            ISETP.NE.AND P1, PT, R5, RZ, PT
            @P1 BRA again
            """
        self.check(BRANCH, load(IN, "R9"), text, branch_on("R9"))


class Messages(Case):
    def test_have_secret_counters_only(self):
        for at in range(0, 64, 4):
            text = f"""
                LDC.64 R2, c[0x0][{MESSAGES:#x}]
                IMAD.WIDE.U32 R2, R0, 0x40, R2
                LDG.E R4, desc[UR4][R2.64+{at:#x}]
                """
            expected = BRANCH if 40 <= at < 56 else []
            self.check(expected, text, branch_on("R4"), secret_counter=True)
            self.check([], text, branch_on("R4"))

    def test_say_that_a_counter_is_secret(self):
        for flag, expected in (("0x4", []), ("0x2", BRANCH)):
            text = f"""
                LDC.64 R2, c[0x0][{MESSAGES:#x}]
                LDG.E R4, desc[UR4][R2.64+0x24]
                LOP3.LUT P0, RZ, R4, {flag}, RZ, 0xc0, !PT
                @P0 BRA end
                LDG.E R5, desc[UR4][R2.64+0x28]
                ISETP.NE.AND P1, PT, R5, RZ, PT
                @P1 EXIT
                end:
                EXIT
                """
            self.check(expected, text, secret_counter=True)


class EndsOfMessages(Case):
    def text(self, at):
        return f"""
            LDC R4, c[0x0][{COUNT:#x}]
            LDC R5, c[0x0][{TILES:#x}]
            LDC.64 R2, c[0x0][{SCRATCH:#x}]
            IADD3 R4, R4, R5, RZ
            IMAD.WIDE.U32 R2, R4, 0x10, R2
            IMAD.WIDE.U32 R2, R0, 0x40, R2
            LDG.E R4, desc[UR4][R2.64+{at:#x}]
            """

    def test_have_secret_addends_only(self):
        for at in range(0, 64, 4):
            expected = BRANCH if at >= 48 else []
            self.check(expected, self.text(at), branch_on("R4"), name="gcm_finish")

    def test_are_read_by_two_entries_only(self):
        self.check(BRANCH, self.text(0), branch_on("R4"), name="ghash")

    def test_have_public_verdicts_after_the_barrier(self):
        barrier = "BAR.SYNC.DEFER_BLOCKING 0x0"
        for name, before, place, expected in (
            ("gcm_finish", barrier, "R2.64", []),
            ("ghash_join", barrier, "R2.64", BRANCH),
            ("gcm_finish", "NOP", "R2.64", BRANCH),
            ("gcm_finish", barrier, "R2.64+0x4", BRANCH),
        ):
            text = f"""
                LDC.64 R2, c[0x0][{SCRATCH:#x}]
                IMAD.WIDE.U32 R2, R0, 0x10, R2
                {before}
                LDG.E R4, desc[UR4][{place}]
                """
            self.check(expected, text, branch_on("R4"), name=name)


class Analysis(unittest.TestCase):
    def test_refuses_what_it_does_not_know(self):
        for line in (
            "SHFL.BFLY PT, R4, R4, 0x1, 0x1f",
            "ATOMG.E.ADD R4, [R2.64], R5",
            "BRX R2",
            "LEA.64 R2, R4, R6, 0x4",
            "IMAD.WIDE.U64 R2, R4, R6, R8",
            "LDL.U8 R2, [R1]",
            "P2R.B1 R2, PR, RZ, 0x1",
        ):
            with self.assertRaises(sass.Unknown):
                findings(f"{line}\nEXIT")

    def test_knows_the_logic_of_three_operands(self):
        a, b, c = values.constant(0xF0), values.constant(0xCC), values.constant(0xAA)
        for table in range(256):
            _, known, bits = values.logic3(a, b, c, table)
            self.assertEqual((known, bits & 0xFF), (values.ALL, table))

    def test_knows_which_bits_a_secret_reaches(self):
        mask = values.constant(0xFF)
        self.assertEqual(
            values.logic3(values.SECRET_VALUE, mask, values.ZERO, 0xC0),
            (values.SECRET, 0xFFFFFF00, 0),
        )
        self.assertEqual(
            values.logic3(values.SECRET_VALUE, mask, values.ZERO, 0x3C), (values.SECRET, 0, 0)
        )
        self.assertEqual(
            values.logic3(values.SECRET_VALUE, values.ZERO, values.ZERO, 0xC0), values.ZERO
        )


class PackedPredicates(Case):
    def test_are_as_secret_as_each_was(self):
        for chosen, expected in (("P0", BRANCH), ("P1", [])):
            text = f"""
                ISETP.NE.AND P0, PT, R4, RZ, PT
                LDC R5, c[0x0][{COUNT:#x}]
                ISETP.NE.AND P1, PT, R5, RZ, PT
                P2R R6, PR, RZ, 0x3
                NOP
                R2P PR, R6, 0x3
                @{chosen} BRA end
                NOP
                end:
                EXIT
                """
            self.check(expected, load(IN), text)


if __name__ == "__main__":
    unittest.main()
