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
  {
    name: 'drafts-of-a-stranger',
    what: 'T23: what was written after a stranger was read takes the place of no text that was not',
    test: 'emit-skill.test.ts',
    file: 'src/skills/drafts/emit-skill.ts',
    find: 'return principal === draft.principal && isAsGood',
    replace: 'return principal === draft.principal || isAsGood',
  },
  {
    name: 'drafts-of-others',
    what: 'T23: nobody writes over the draft of another principal',
    test: 'emit-skill.test.ts',
    file: 'src/skills/drafts/emit-skill.ts',
    find: 'return principal === draft.principal && isAsGood',
    replace: 'return isAsGood',
  },
  {
    name: 'drafts-without-secrets',
    what: 'C5: what an agent keeps as a draft has no secret of the deployment in it',
    test: 'emit-skill.test.ts',
    file: 'src/skills/drafts/emit-skill.ts',
    find: 'const rest = redact(text)',
    replace: 'const rest = text',
  },
  {
    name: 'drafts-in-sight',
    what: 'T23: what nobody can see stands in no draft',
    test: 'emit-skill.test.ts',
    file: 'src/skills/drafts/draft-text.ts',
    find: 'if (hasHiddenInLine(description))',
    replace: 'if (name === description)',
  },
]
