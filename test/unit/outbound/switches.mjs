// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'outside-leads-outside',
    what: 'T16: what the operator set outside leads nobody into a private network',
    test: 'holes.test.ts',
    file: 'src/platform/outbound/send.ts',
    find: 'return url.hostname === set.hostname || !isPublicHost(set.hostname)',
    replace: 'return true',
  },
  {
    name: 'this-machine-is-closed',
    what: 'T5: an address that a caller names asks no port of this machine that no operator opened',
    test: 'image-reader.test.ts',
    file: 'src/platform/outbound/types.ts',
    find: '(hosts.includes(host) && !isOutside(from))',
    replace: 'isOfThisMachine(host)',
  },
]
