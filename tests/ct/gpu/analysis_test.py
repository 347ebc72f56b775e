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


class Secrets(unittest.TestCase):
    def test_decide_branches(self):
        for pointer in (IN, OUT, KEYS, SCRATCH):
            text = (
                load(pointer)
                + """
                ISETP.NE.AND P0, PT, R4, RZ, PT
                @P0 BRA end
                NOP
                end:
                EXIT
                """
            )
            self.assertEqual(findings(text), ["secret branch"])
        self.assertEqual(findings(text.replace(f"{SCRATCH:#x}", f"{MESSAGES:#x}")), [])

    def test_decide_whether_threads_exit(self):
        self.assertEqual(
            findings(
                load(IN)
                + """
            LOP3.LUT P0, RZ, R4, 0x1, RZ, 0xc0, !PT
            @!P0 EXIT
            EXIT
            """
            ),
            ["secret branch"],
        )

    def test_are_addresses(self):
        self.assertEqual(
            findings(
                load(IN)
                + """
            LDC.64 R6, c[0x0][0x218]
            IMAD.WIDE.U32 R6, R4, 0x4, R6
            LDG.E R8, desc[UR4][R6.64]
            STG.E desc[UR4][R6.64], RZ
            LDS R8, [R4+0x400]
            STS [R4], R8
            LDC R9, c[0x3][R4]
            EXIT
            """
            ),
            ["secret address"] * 5,
        )

    def test_are_indices_of_constants(self):
        text = load(IN) + "R2UR UR6, R4\nIADD3 R8, RZ, c[0x3][UR6], RZ\nEXIT"
        self.assertEqual(findings(text), ["secret address"])

    def test_are_upper_halves_of_sums(self):
        for kind in ("HI", "WIDE"):
            text = (
                load(IN, "R9")
                + f"""
                MOV R8, RZ
                IMAD.{kind}.U32 R10, R12, R13, R8
                ISETP.NE.AND P0, PT, {"R10" if kind == "HI" else "R11"}, RZ, PT
                @P0 EXIT
                EXIT
                """
            )
            self.assertEqual(findings(text), ["secret branch"], kind)

    def test_are_upper_halves_of_addresses(self):
        self.assertEqual(
            findings(
                load(IN, "R7")
                + """
            LDC R6, c[0x0][0x218]
            LDG.E R8, desc[UR4][R6.64]
            EXIT
            """
            ),
            ["secret address"],
        )

    def test_decide_whether_memory_is_accessed(self):
        self.assertEqual(
            findings(
                load(IN)
                + """
            LDC.64 R6, c[0x0][0x218]
            ISETP.GE.U32.AND P0, PT, R4, 0x5, PT
            @P0 LDG.E R8, desc[UR4][R6.64]
            @P0 STG.E desc[UR4][R6.64], RZ
            EXIT
            """
            ),
            ["secret condition of an access"] * 2,
        )

    def test_select_values(self):
        self.assertEqual(
            findings(
                load(IN)
                + """
            LDC.64 R6, c[0x0][0x218]
            ISETP.NE.AND P0, PT, R4, RZ, PT
            SEL R9, RZ, 0x1, P0
            @P0 LOP3.LUT R9, R9, R4, RZ, 0x3c, !PT
            STG.E desc[UR4][R6.64], R9
            EXIT
            """
            ),
            [],
        )

    def test_selected_by_secrets_are_secret(self):
        self.assertEqual(
            findings(
                load(IN)
                + """
            MOV R9, RZ
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 MOV R9, 0x1
            ISETP.NE.AND P1, PT, R9, RZ, PT
            @P1 EXIT
            EXIT
            """
            ),
            ["secret branch"],
        )

    def test_come_back_from_the_stack(self):
        text = (
            "LDC R1, c[0x0][0x28]\nVIADD R1, R1, 0xfffffff0\n"
            + load(IN)
            + """
            STL [R1+0x8], R4
            STL [R1+0x4], RZ
            LDL R9, [R1+{}]
            ISETP.NE.AND P0, PT, R9, RZ, PT
            @P0 EXIT
            EXIT
            """
        )
        self.assertEqual(findings(text.format("0x8")), ["secret branch"])
        self.assertEqual(findings(text.format("0x4")), [])

    def test_come_back_from_shared_memory(self):
        self.assertEqual(
            findings("""
            LDS R4, [0x10]
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 EXIT
            EXIT
            """),
            ["secret branch"],
        )

    def test_come_round_a_loop(self):
        self.assertEqual(
            findings("""
            LDC.64 R2, c[0x0][0x210]
            MOV R4, RZ
            again:
            ISETP.GE.U32.AND P0, PT, R4, 0x10, PT
            @P0 EXIT
            LDG.E R4, desc[UR4][R2.64]
            BRA again
            """),
            ["secret branch"],
        )

    def test_written_to_public_memory(self):
        self.assertEqual(
            findings(
                load(IN)
                + """
            LDC.64 R6, c[0x0][0x220]
            STG.E desc[UR4][R6.64+0x10], R4
            EXIT
            """
            ),
            ["secret written to public memory"],
        )

    def test_in_the_argument_single(self):
        text = f"""
            LDC R4, c[0x0][{PARAMETERS + 68:#x}]
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 EXIT
            EXIT
            """
        self.assertEqual(findings(text, parameter_bytes=548), ["secret branch"])

    def test_in_other_bits_of_a_register(self):
        text = (
            load(IN)
            + """
            LOP3.LUT R4, R4, 0xfffffffb, RZ, 0xc0, !PT
            LOP3.LUT P0, RZ, R4, {}, RZ, 0xc0, !PT
            @P0 EXIT
            EXIT
            """
        )
        self.assertEqual(findings(text.format("0x4")), [])
        self.assertEqual(findings(text.format("0x6")), ["secret branch"])


class ConditionalPointers(unittest.TestCase):
    def test_replace_older_secrets(self):
        self.assertEqual(
            findings(
                load(IN, "R8")
                + load(KEYS, "R9")
                + load(MESSAGES)
                + """
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 IMAD R8, R4, 0x10, RZ
            @P0 LDC.64 R6, c[0x0][0x218]
            @P0 IADD3 R8, P1, R8, R6, RZ
            @P0 IMAD.X R9, RZ, RZ, R7, P1
            @P0 STG.E desc[UR4][R8.64], RZ
            EXIT
            """
            ),
            [],
        )

    def test_that_are_used_under_another_condition(self):
        self.assertEqual(
            findings(
                load(IN, "R8")
                + load(MESSAGES)
                + """
            ISETP.NE.AND P0, PT, R4, RZ, PT
            ISETP.NE.AND P1, PT, R4, 0x5, PT
            LDC.64 R6, c[0x0][0x218]
            @P0 MOV R8, 0x10
            IADD3 R10, P2, R8, R6, RZ
            IMAD.X R11, RZ, RZ, R7, P2
            @P1 STG.E desc[UR4][R10.64], RZ
            EXIT
            """
            ),
            ["secret address"],
        )

    def test_that_the_stack_keeps(self):
        text = (
            "LDC R1, c[0x0][0x28]\nVIADD R1, R1, 0xfffffff0\n"
            + load(IN, "R8")
            + """
            STL [R1], R8
            STL [R1+0x4], R8
            """
            + load(MESSAGES)
            + """
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 LDC.64 R6, c[0x0][{pointer:#x}]
            @P0 STL.64 [R1], R6
            ISETP.NE.AND P1, PT, R4, 0x5, PT
            LDL.64 R10, [R1]
            @P1 STG.E desc[UR4][R10.64], RZ
            EXIT
            """
        )
        self.assertEqual(findings(text.format(pointer=OUT)), [])
        self.assertEqual(findings(text.format(pointer=COUNT)), ["secret address"])

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
                self.assertEqual(found, [] if right else ["secret address"], (kept, test))

    def test_whose_condition_may_be_another(self):
        keep, other = "P2R R5, PR, RZ, 0x1", "ISETP.NE.AND P0, PT, R0, RZ, PT"
        test, bit = "ISETP.NE.AND P1, PT, R5, RZ, PT", "LOP3.LUT P1, RZ, R5, 0x1, RZ, 0xc0, !PT"
        right = self.used_later("P2R R5, PR, RZ, 0x1", other, test)
        self.assertEqual(right, [])
        for lines in (
            (keep, other, f"@P3 {test}"),
            (keep, other, f"@P3 {bit}"),
            (keep, other, "@P3 MOV R12, R5", test.replace("R5", "R12")),
            (keep, other, "@P3 R2P PR, R5, 0x1", "P2R R5, PR, RZ, 0x1", test),
            (keep, other, "ISETP.NE.OR P1, PT, R5, RZ, PT"),
            (keep, other, "ISETP.EQ.AND P1, PT, R5, RZ, PT"),
            (
                "P2R R12, PR, RZ, 0x9",
                "IMAD.MOV.U32 R5, RZ, RZ, -R12",
                other,
                bit.replace("0x1", "0x2"),
            ),
            # Two bits, of which one is not known any more.
            ("P2R R5, PR, RZ, 0x5", "IADD3 R12, P2, R0, R0, RZ", other, test),
            ("P2R R5, PR, RZ, 0x9", other, test),
            (keep, "LOP3.LUT R5, R5, 0x2, RZ, 0xfc, !PT", other, test),
            (keep, "@P3 BRA skip", "P2R R5, PR, RZ, 0x9", "skip:", other, test),
            (
                "LOP3.LUT R5, R4, 0xfffffffe, RZ, 0xc0, !PT",
                "@P0 LOP3.LUT R5, R5, 0x1, RZ, 0xfc, !PT",
                other,
                test,
            ),
            (
                "@P3 LOP3.LUT R5, R5, 0xfffffffe, RZ, 0xc0, !PT",
                "@P0 LOP3.LUT R5, R5, 0x1, RZ, 0xfc, !PT",
                other,
                bit,
            ),
        ):
            self.assertEqual(self.used_later(*lines), ["secret address"], lines)

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
            self.assertEqual(found, [] if right else ["secret address"], (cleared, bit))

    def test_whose_condition_is_computed_again(self):
        again = "ISETP.NE.AND P1, PT, R4, 0x7, PT"
        for lines, right in (
            ((again,), True),
            (("IADD3 R4, R4, 0x1, RZ", again), False),
            (("ISETP.EQ.AND P1, PT, R4, 0x7, PT",), False),
            (("ISETP.NE.AND P1, PT, R4, 0x8, PT",), False),
        ):
            self.assertEqual(self.used_later(*lines), [] if right else ["secret address"], lines)
        self.assertEqual(self.used_later(again, computed="@!P0"), ["secret address"])

    def test_that_secrets_replace_again(self):
        again = "ISETP.NE.AND P1, PT, R4, 0x7, PT"
        found = self.used_later("LDC.64 R2, c[0x0][0x210]", "LDG.E R8, desc[UR4][R2.64]", again)
        self.assertEqual(found, ["secret address"])

    def test_whose_condition_a_routine_computes_twice(self):
        text = (
            load(IN, "R8")
            + load(MESSAGES)
            + """
            MOV R20, 0x60
            CALL.REL.NOINC routine
            @P0 MOV R8, RZ
            IADD3 R4, R4, {more}, RZ
            MOV R20, 0xa0
            {call}
            LDC.64 R6, c[0x0][0x218]
            @P0 IADD3 R10, P2, R8, R6, RZ
            @P0 IMAD.X R11, RZ, RZ, R7, P2
            @P0 STG.E desc[UR4][R10.64], RZ
            EXIT
            routine:
            ISETP.NE.AND P0, PT, R4, RZ, PT
            RET.REL.NODEC R20, 0x0
            """
        )
        self.assertEqual(findings(text.format(more="0x1", call="NOP")), [])
        self.assertEqual(
            findings(text.format(more="0x1", call="CALL.REL.NOINC routine")), ["secret address"]
        )

    def used_with_p0(self, *lines):
        """An offset that may have replaced a secret is added to a pointer if P0 holds."""
        return findings(
            load(IN, "R8")
            + load(MESSAGES)
            + "\n".join(lines)
            + """
            LDC.64 R6, c[0x0][0x218]
            @P0 IADD3 R10, P2, R8, R6, RZ
            @P0 IMAD.X R11, RZ, RZ, R7, P2
            @P0 STG.E desc[UR4][R10.64], RZ
            EXIT
            """
        )

    def test_whose_condition_is_a_carry(self):
        lines = ("IADD3 R5, P0, R4, R4, RZ", "@P0 MOV R8, RZ")
        self.assertEqual(self.used_with_p0(*lines), [])
        found = self.used_with_p0(*lines, "IADD3 R5, P0, R5, R4, RZ")
        self.assertEqual(found, ["secret address"])

    def test_whose_condition_changes_on_one_way(self):
        lines = ("ISETP.NE.AND P0, PT, R4, RZ, PT", "@P0 MOV R8, RZ", "@P1 BRA skip", "skip:")
        self.assertEqual(self.used_with_p0(*lines), [])
        for other in ("ISETP.NE.AND P0, PT, R4, 0x5, PT", "LDG.E R8, desc[UR4][R2.64]"):
            changed = (*lines[:3], "LDC.64 R2, c[0x0][0x210]", other, "skip:")
            self.assertEqual(self.used_with_p0(*changed), ["secret address"], other)

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
        self.assertEqual(findings(moved.format(last=use + stale)), ["secret address"])


class PairsOfRegisters(unittest.TestCase):
    def found(self, line, secret, upper):
        """Whether a branch on a word of R8 is a finding if a word of R4 is secret."""
        return findings(
            "MOV R4, RZ\nMOV R5, RZ\nMOV R8, RZ\nMOV R9, RZ\n"
            + load(IN, secret)
            + f"""
            {line}
            ISETP.NE.AND P0, PT, {"R9" if upper else "R8"}, RZ, PT
            @P0 EXIT
            EXIT
            """
        )

    def test_keep_their_secrets(self):
        leak = ["secret branch"]
        for line in (
            "IADD.64 R8, R4, R6",
            "IADD.64 R8, R6, -R4",
            "SEL.64 R8, R4, R6, P1",
            "SEL.64 R8, R4, -0x1, P1",
            "IMNMX.U64 PT, PT, R8, R4, R6, !PT, !PT",
        ):
            self.assertEqual(self.found(line, "R4", True), leak, line)
            self.assertEqual(self.found(line, "R4", False), leak, line)
            self.assertEqual(self.found(line, "R5", True), leak, line)
        self.assertEqual(self.found("MOV.64 R8, R4", "R4", False), leak)
        self.assertEqual(self.found("MOV.64 R8, R4", "R4", True), [])
        self.assertEqual(self.found("MOV.64 R8, R4", "R5", True), leak)

    def test_are_compared_whole(self):
        for secret in ("R4", "R5", "R10"):
            for kind in ("GE.U64", "NE.S64"):
                self.assertEqual(
                    findings(
                        load(IN, secret) + f"ISETP.{kind}.AND P0, PT, R4, RZ, PT\n@P0 EXIT\nEXIT"
                    ),
                    [] if secret == "R10" else ["secret branch"],
                    (kind, secret),
                )


class OtherThreads(unittest.TestCase):
    def test_have_other_conditions(self):
        for line in ("VOTE.ANY R9, PT, P1", "R2UR R9, R8", "BMMA.88128.AND.POPC R9, R8, R4, R16"):
            found = findings(
                load(IN, "R8")
                + load(MESSAGES)
                + f"""
                ISETP.NE.AND P0, PT, R4, RZ, PT
                @P0 MOV R8, RZ
                ISETP.NE.AND P1, PT, R8, RZ, PT
                {line}
                LDC.64 R6, c[0x0][{OUT:#x}]
                @P0 IADD3 R10, P2, R9, R6, RZ
                @P0 IMAD.X R11, RZ, RZ, R7, P2
                @P0 STG.E desc[UR4][R10.64], RZ
                EXIT
                """
            )
            self.assertIn("secret address", found, line)

    def test_wait_for_a_barrier_that_not_all_reach(self):
        text = f"""
            LDC.64 R2, c[0x0][{SCRATCH:#x}]
            IMAD.WIDE.U32 R2, R0, 0x10, R2
            ISETP.NE.AND P2, PT, R0, 0x5, PT
            @P2 BAR.SYNC.DEFER_BLOCKING 0x0
            LDG.E R4, desc[UR4][R2.64]
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 EXIT
            EXIT
            """
        self.assertEqual(findings(text, name="gcm_finish"), ["secret branch"])


class MeetingPoints(unittest.TestCase):
    def test_under_conditions(self):
        secret = "ISETP.NE.AND P1, PT, R4, RZ, PT\n"
        public = "ISETP.NE.AND P0, PT, R5, RZ, PT\n"
        for text in (
            secret + public + "BSSY B0, end\n@P0 BSYNC B0\n@P1 EXIT\nend:\nEXIT",
            secret + "BSSY B0, end\n@P1 BSYNC B0\nend:\nEXIT",
            secret + public + "BSSY B0, a\n@P0 BSSY B0, end\nBSYNC B0\na:\n@P1 EXIT\nend:\nEXIT",
        ):
            self.assertEqual(findings(load(IN) + text), ["secret branch"], text)


class Calls(unittest.TestCase):
    def test_return_to_where_a_register_says(self):
        text = (
            load(IN, "R9")
            + """
            MOV R20, {back}
            MOV R4, RZ
            CALL.REL.NOINC routine
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 EXIT
            EXIT
            routine:
            MOV R4, {result}
            RET.REL.NODEC R20, 0x0
            """
        )
        self.assertEqual(findings(text.format(back="0x50", result="RZ")), [])
        self.assertEqual(findings(text.format(back="0x50", result="R9")), ["secret branch"])
        with self.assertRaisesRegex(sass.Unknown, "returns to an unknown place"):
            findings(text.format(back="0x60", result="RZ"))

    def test_that_go_on_from_another_place_do_not_return(self):
        text = (
            load(IN, "R9")
            + """
            MOV R20, 0x50
            MOV R4, RZ
            CALL.REL.NOINC routine
            EXIT
            routine:
            MOV R20, RZ
            RET.REL.NODEC R20, 0x0
            """
        )
        with self.assertRaisesRegex(sass.Unknown, "returns to an unknown place"):
            findings(text)

    def test_without_a_place_to_return_to_are_branches(self):
        self.assertEqual(
            findings(
                load(IN, "R9")
                + f"""
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
                ISETP.NE.AND P2, PT, R9, RZ, PT
                @P2 EXIT
                EXIT
                """
            ),
            ["secret branch"],
        )


class Messages(unittest.TestCase):
    BRANCH = f"""
        LDC.64 R2, c[0x0][{MESSAGES:#x}]
        IMAD.WIDE.U32 R2, R0, 0x40, R2
        LDG.E R4, desc[UR4][R2.64+{{}}]
        ISETP.NE.AND P0, PT, R4, RZ, PT
        @P0 EXIT
        EXIT
        """

    def test_have_secret_counters_only(self):
        for at in range(0, 64, 4):
            secret = 40 <= at < 56
            self.assertEqual(
                findings(self.BRANCH.format(hex(at)), secret_counter=True),
                ["secret branch"] if secret else [],
                at,
            )
            self.assertEqual(findings(self.BRANCH.format(hex(at))), [], at)

    def test_say_that_a_counter_is_secret(self):
        text = f"""
            LDC.64 R2, c[0x0][{MESSAGES:#x}]
            LDG.E R4, desc[UR4][R2.64+0x24]
            LOP3.LUT P0, RZ, R4, {{}}, RZ, 0xc0, !PT
            @P0 BRA end
            LDG.E R5, desc[UR4][R2.64+0x28]
            ISETP.NE.AND P1, PT, R5, RZ, PT
            @P1 EXIT
            end:
            EXIT
            """
        self.assertEqual(findings(text.format("0x4"), secret_counter=True), [])
        self.assertEqual(findings(text.format("0x2"), secret_counter=True), ["secret branch"])


class EndsOfMessages(unittest.TestCase):
    def text(self, at):
        return f"""
            LDC R4, c[0x0][{COUNT:#x}]
            LDC R5, c[0x0][{TILES:#x}]
            LDC.64 R2, c[0x0][{SCRATCH:#x}]
            IADD3 R4, R4, R5, RZ
            IMAD.WIDE.U32 R2, R4, 0x10, R2
            IMAD.WIDE.U32 R2, R0, 0x40, R2
            LDG.E R4, desc[UR4][R2.64+{at:#x}]
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 EXIT
            EXIT
            """

    def test_have_secret_addends_only(self):
        for at in range(0, 64, 4):
            self.assertEqual(
                findings(self.text(at), name="gcm_finish"),
                ["secret branch"] if at >= 48 else [],
                at,
            )

    def test_are_read_by_two_entries_only(self):
        self.assertEqual(findings(self.text(0), name="ghash"), ["secret branch"])

    def test_have_public_verdicts_after_the_barrier(self):
        text = f"""
            LDC.64 R2, c[0x0][{SCRATCH:#x}]
            IMAD.WIDE.U32 R2, R0, 0x10, R2
            BAR.SYNC.DEFER_BLOCKING 0x0
            LDG.E R4, desc[UR4][R2.64]
            ISETP.NE.AND P0, PT, R4, RZ, PT
            @P0 EXIT
            EXIT
            """
        self.assertEqual(findings(text, name="gcm_finish"), [])
        self.assertEqual(findings(text, name="ghash_join"), ["secret branch"])
        self.assertEqual(
            findings(text.replace("BAR.SYNC.DEFER_BLOCKING 0x0", "NOP"), name="gcm_finish"),
            ["secret branch"],
        )
        self.assertEqual(
            findings(text.replace("[R2.64]", "[R2.64+0x4]"), name="gcm_finish"), ["secret branch"]
        )


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


class PackedPredicates(unittest.TestCase):
    TEXT = """
        LDC.64 R2, c[0x0][{pointer:#x}]
        LDG.E R4, desc[UR4][R2.64]
        ISETP.NE.AND P0, PT, R4, RZ, PT
        LDC R5, c[0x0][{count:#x}]
        ISETP.NE.AND P1, PT, R5, RZ, PT
        P2R R6, PR, RZ, 0x3
        NOP
        R2P PR, R6, 0x3
        @{chosen} BRA end
        NOP
        end:
        EXIT
    """

    def found(self, chosen):
        return findings(self.TEXT.format(pointer=IN, count=COUNT, chosen=chosen))

    def test_are_as_secret_as_each_was(self):
        self.assertEqual(self.found("P0"), ["secret branch"])
        self.assertEqual(self.found("P1"), [])


if __name__ == "__main__":
    unittest.main()
