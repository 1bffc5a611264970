// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'forged-answer',
    what: 'T21: a call takes no answer that was given to another question',
    test: 'asking.test.ts',
    file: 'src/features/plugins/types/answers.ts',
    find: 'if (JSON.stringify(before) !== JSON.stringify(asked)) return { asked }',
    replace: '',
  },
]
