/* What do the server and the agent in a sandbox say to each other? Frames: u32 length of what follows, u8 kind, body. All
 * numbers are little-endian; a text or blob is a u32 length and its bytes. One client speaks at a time: the newest
 * that said hello. */
#ifndef TRAILGYM_WIRE_H
#define TRAILGYM_WIRE_H

#define WIRE_VERSION 1

/* From the server. */
enum {
  ASK_HELLO = 1,   /* u32 version, u32 lease in ms */
  ASK_RENEW = 2,   /* nothing */
  ASK_CALL = 3,    /* u64 turn, u64 key, u8 op, body of the op */
  ASK_KILL = 4,    /* u64 key: end that command; its reply says so */
  ASK_END = 5,     /* nothing: the sandbox is over */
};

/* A turn is a step of the episode. Within one, a key names a call: asked again it is not done again, it is answered again.
 * A later turn forgets the earlier one's replies, and an earlier one is refused. */

/* Operations of a call. */
enum {
  OP_EXEC = 1,     /* exec_request below */
  OP_READ = 2,     /* text path, u64 most bytes */
  OP_WRITE = 3,    /* text path, u32 mode, blob */
  OP_LIST = 4,     /* text path */
  OP_ARCHIVE = 5,  /* u64 most bytes */
  OP_RESTORE = 6,  /* blob: a tar archive; what was there is gone */
};

/* exec_request: u32 total ms (0 none), u32 quiet ms (0 none), u32 most bytes of each stream, u8 merge stderr into stdout,
 *               text cwd, u32 argc, texts, u32 envc, texts, blob stdin. */

/* From the agent. */
enum {
  SAY_HELLO = 1,   /* u32 version, u64 turn */
  SAY_OUTPUT = 2,  /* u64 key, u8 stream (1, 2), bytes: a part of what the reply will hold, sent once to whoever is there */
  SAY_REPLY = 3,   /* u64 key, u8 status, body: of the op, or a text that says what failed */
};

/* Statuses of a reply. */
enum {
  REPLY_OK = 0,
  REPLY_FAILED = 1,     /* text: the operation could not be done, and why */
  REPLY_TOO_LARGE = 2,  /* text */
  REPLY_REFUSED = 3,    /* text: of an earlier turn, or another command runs */
};

/* Reply of OP_EXEC: u8 end (how it ended), i32 exit code or signal, u32 ms, u64 bytes of stdout that were dropped, u64 of
 * stderr, blob stdout, blob stderr.
 * Reply of OP_READ: u32 mode, blob. OP_WRITE, OP_RESTORE: nothing. OP_ARCHIVE: u32 entries left out, blob.
 * Reply of OP_LIST: u32 count, then each: text name, u8 type as in st_mode's letter (f d l o), u32 mode, u64 size. */
enum {
  END_EXIT = 0,
  END_SIGNAL = 1,
  END_TIMEOUT = 2,  /* total time was up */
  END_QUIET = 3,    /* it said nothing for too long */
  END_KILLED = 4,   /* ASK_KILL */
};

#endif
