#include "buffer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *allocate(void *old, size_t size) {
  void *got = realloc(old, size ? size : 1);
  if (!got) _exit(12);
  return got;
}

void put(Buffer *b, const void *bytes, size_t size) {
  if (b->room - b->size < size) {
    size_t room = b->room ? b->room : 256;
    while (room - b->size < size) room *= 2;
    b->data = allocate(b->data, room);
    b->room = room;
  }
  if (size) memcpy(b->data + b->size, bytes, size);
  b->size += size;
}

void put_u8(Buffer *b, uint8_t value) { put(b, &value, 1); }

void put_u32(Buffer *b, uint32_t value) {
  for (int i = 0; i < 4; i++) put_u8(b, value >> (8 * i));
}

void put_u64(Buffer *b, uint64_t value) {
  for (int i = 0; i < 8; i++) put_u8(b, value >> (8 * i));
}

void put_blob(Buffer *b, const void *bytes, size_t size) {
  put_u32(b, size);
  put(b, bytes, size);
}

void put_text(Buffer *b, const char *text) { put_blob(b, text, strlen(text)); }

void clear(Buffer *b) {
  free(b->data);
  *b = (Buffer){0};
}

static const uint8_t *take(Reader *r, size_t size) {
  static const uint8_t zeros[8];
  if (r->failed || r->left < size) {
    r->failed = true;
    return zeros;
  }
  const uint8_t *at = r->at;
  r->at += size;
  r->left -= size;
  return at;
}

uint8_t get_u8(Reader *r) { return *take(r, 1); }

static uint64_t number(Reader *r, int size) {
  const uint8_t *at = take(r, size);
  uint64_t value = 0;
  for (int i = size; i-- > 0;) value = value << 8 | at[i];
  return value;
}

uint32_t get_u32(Reader *r) { return number(r, 4); }
uint64_t get_u64(Reader *r) { return number(r, 8); }

const uint8_t *get_blob(Reader *r, size_t *size) {
  *size = get_u32(r);
  const uint8_t *at = take(r, *size);
  if (r->failed) *size = 0;
  return at;
}

char *get_text(Reader *r) {
  size_t size;
  const uint8_t *at = get_blob(r, &size);
  if (size && memchr(at, 0, size)) r->failed = true;
  if (r->failed) size = 0;
  char *text = allocate(NULL, size + 1);
  if (size) memcpy(text, at, size);
  text[size] = 0;
  return text;
}
