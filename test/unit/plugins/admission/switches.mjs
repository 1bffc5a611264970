// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'signature-fits',
    what: 'T24: a signature that does not fit is refused',
    test: 'upload-reader.test.ts',
    file: 'src/features/plugins/admission/upload-reader.ts',
    find: 'if (!(await isSigned(signature, signed.text))) {',
    replace: 'if (false) {',
  },
  {
    name: 'signature-of-accepted-key',
    what: 'P20: only a key that the operator accepted makes a plugin trusted',
    test: 'upload-reader.test.ts',
    file: 'src/features/plugins/admission/upload-reader.ts',
    find: 'trusted.find(({ publicKey }) => publicKey === signature.key)',
    replace: 'trusted[0] ?? ({ name: signature.key } as TrustedKey)',
  },
]
