/* Bytes that grow, and a reader over bytes that never reads past their end. */
#ifndef TRAILGYM_BUFFER_H
#define TRAILGYM_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint8_t *data;
  size_t size, room;
} Buffer;

void put(Buffer *b, const void *bytes, size_t size);
void put_u8(Buffer *b, uint8_t value);
void put_u32(Buffer *b, uint32_t value);
void put_u64(Buffer *b, uint64_t value);
void put_blob(Buffer *b, const void *bytes, size_t size);
void put_text(Buffer *b, const char *text);
void clear(Buffer *b);

typedef struct {
  const uint8_t *at;
  size_t left;
  bool failed; /* it asked for more than there was; every value since then is 0 or empty */
} Reader;

uint8_t get_u8(Reader *r);
uint32_t get_u32(Reader *r);
uint64_t get_u64(Reader *r);
const uint8_t *get_blob(Reader *r, size_t *size);
/* A fresh copy that ends with 0; a text that holds a 0 fails. */
char *get_text(Reader *r);

/* Out of memory is the end of the sandbox: the kernel would choose a victim otherwise. */
void *allocate(void *old, size_t size);

#endif
