// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'voice-ends-no-section',
    what: 'T11: the text of a persona does not end its section of the prompt',
    test: 'personas.test.ts',
    file: 'src/features/agents/personas.ts',
    find: ".replaceAll(/<(?=\\s*(?:\\/\\s*)?voice)/gi, '(')",
    replace: '',
  },
  {
    name: 'voice-of-whom',
    what: 'T23: a voice that was made ready while somebody vouched for it is not spoken with once nobody does',
    test: 'personas.test.ts',
    file: 'src/features/agents/agent-directory.ts',
    find: 'JSON.stringify([persona.name, persona.hash, persona.label])',
    replace: 'persona.hash',
  },
]
