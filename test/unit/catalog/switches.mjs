// Protections that the tests of this folder hold up, and what the code reads like without them (test/switches/all.mjs).
export default [
  {
    name: 'words-have-a-label',
    what: 'T11: a call with words that nobody saw has their label where it is decided about',
    test: 'unseen-words.test.ts',
    file: 'src/catalog/unseen-words.ts',
    find: 'label: joinLabels([words.label, changed]) }',
    replace: 'label: changed }',
  },
  {
    name: 'words-of-a-reader',
    what: 'T11: a whole result is no link, whatever is in it',
    test: 'unseen-words.test.ts',
    file: 'src/catalog/unseen-words.ts',
    find: '!isOfWords(handle) || ',
    replace: '',
  },
  {
    name: 'words-told-later',
    what: 'T11: what code was told in one call it says in no later one',
    test: 'unseen-words.test.ts',
    file: 'src/catalog/keep-aside.ts',
    find: 'isOurs(entry) ? undefined',
    replace: 'true ? undefined',
  },
  {
    name: 'link-in-the-material',
    what: 'T11: a link is one that stands in what was read',
    test: 'narrow-reading.test.ts',
    file: 'src/contracts/narrow-types.ts',
    find: 'linksIn(material).has(text)',
    replace: 'text !== material',
  },
]
