// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'skills-as-built',
    what: 'T23: of the skills that ship the text is read that the Worker was built with, and no other',
    test: 'bundled-skills.test.ts',
    file: 'src/skills/bundled-skills.ts',
    find: 'if (sha256(text) !== asset.sha256)',
    replace: 'if (!response.ok)',
  },
]
