// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'memory-scope',
    what: 'Y31: a note of another scope looks like one that is not there',
    test: 'long-term.test.ts',
    only: 'Y31',
    file: 'src/features/memory/long-term/note-book.ts',
    find: 'if (note && isIn(places)(note.place)) return note',
    replace: 'if (note) return note',
  },
  {
    name: 'memory-search-scope',
    what: 'Y31: a search stays in its scopes',
    test: 'long-term.test.ts',
    only: 'Y31',
    file: 'src/features/memory/long-term/rank-notes.ts',
    find: 'if (!isAsked) continue',
    replace: '',
  },
  {
    name: 'memory-keyed-words',
    what: 'I28: what a note is found by is hashed under a key of its object',
    test: 'long-term.test.ts',
    only: 'another hash in another object',
    file: 'src/features/memory/long-term/tenant-key.ts',
    find: 'const bytes = keyedHash(key, word)',
    replace: "const bytes = keyedHash(new TextEncoder().encode('x' + key.length), word)",
  },
  {
    name: 'memory-bound-rows',
    what: 'I28: a sealed note opens under its own id only',
    test: 'long-term.test.ts',
    only: 'nor under another id',
    file: 'src/features/memory/long-term/tenant-key.ts',
    find: 'additionalData: new TextEncoder().encode(lengthPrefixed(about)),',
    replace: 'additionalData: new Uint8Array(about.length && 0),',
  },
]
