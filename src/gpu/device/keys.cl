// Keys: how they get to the device, and key expansion (FIPS 197 section 5.2).

// Copies `tiles` words from `in`, which may be memory of the host, to `out`.
PARAES_ENTRY(copy_words, PARAES_GROUP_THREADS, 1) {
  const paraes_u64 threads = (paraes_u64)job->threads * job->groups;
  for (paraes_u64 i = (paraes_u64)job->threads * job->group + job->thread; i < job->tiles;
       i += threads) {
    ((PARAES_GLOBAL paraes_u32*)job->out)[i] = ((PARAES_GLOBAL const paraes_u32*)job->in)[i];
  }
}

// InvMixColumns of one column.
PARAES_INLINE paraes_u32 inverse_mix_word(paraes_u32 a) {
  const paraes_u32 a2 = xtime4(a);
  const paraes_u32 a4 = xtime4(a2);
  const paraes_u32 a9 = xtime4(a4) ^ a;
  const paraes_u32 a14 = a9 ^ a ^ a4 ^ a2;
  return a14 ^ paraes_rotate24(a9 ^ a2) ^ paraes_rotate16(a9 ^ a4) ^ paraes_rotate8(a9);
}

// Expands `count` keys in `in`, of 16, 24 or 32 bytes as `rounds` implies, to schedules in `out`. A
// thread expands one key at a time.
PARAES_ENTRY(expand_keys, PARAES_GROUP_THREADS, 1) {
  const paraes_u32 key_words = job->rounds - 6;
  const paraes_u32 words = 4 * (job->rounds + 1);
  const paraes_u64 threads = (paraes_u64)job->threads * job->groups;
  for (paraes_u64 k = (paraes_u64)job->threads * job->group + job->thread; k < job->count;
       k += threads) {
    PARAES_GLOBAL const paraes_u32* key = (PARAES_GLOBAL const paraes_u32*)job->in + key_words * k;
    // Words are written and read back, because an array would lie in slower memory.
    PARAES_GLOBAL paraes_schedule* schedule = (PARAES_GLOBAL paraes_schedule*)job->out + k;
    paraes_u32 last = 0;
    paraes_u32 rcon = 1;
    paraes_u32 phase = 0;  // i % key_words
    for (paraes_u32 i = 0; i < words; ++i) {
      if (i < key_words) {
        last = key[i];
      } else {
        if (phase == 0) {
          // The lowest byte of a word is the first, so RotWord rotates right by 8 bits.
          last = sub_word(paraes_rotate24(last)) ^ rcon;
          rcon = xtime4(rcon);
        } else if (key_words == 8 && phase == 4) {
          last = sub_word(last);
        }
        last ^= schedule->encrypt[i - key_words];
      }
      phase = phase + 1 == key_words ? 0 : phase + 1;
      schedule->encrypt[i] = last;
      // Round keys in reverse order; InvMixColumns transforms all but the first and the last.
      const paraes_u32 round = i / 4;
      const paraes_u32 inner = round != 0 && round != job->rounds;
      schedule->decrypt[4 * (job->rounds - round) + i % 4] = inner ? inverse_mix_word(last) : last;
    }
    for (paraes_u32 i = words; i < 60; ++i) {
      schedule->encrypt[i] = 0;
      schedule->decrypt[i] = 0;
    }
  }
}
