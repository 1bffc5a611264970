// Custom oxlint rule: a sentence names its subject. docs/glossary.md has the nouns; test/unit/lint-words.test.ts
// shows the rule saying no, and scripts/words.mjs counts what is left.
import { relative, sep } from 'node:path'
import { proseOfComments, visitTexts } from './prose.mjs'
import { refusedSubjects } from './subjects.mjs'

const subjects = {
  meta: {
    type: 'problem',
    docs: {
      description: 'a comment, an error and the title of a test name their subject by a noun',
    },
  },
  create(context) {
    const { sourceCode } = context
    const path = relative(context.cwd, context.filename).split(sep).join('/')
    const report = (where, word) =>
      context.report({
        ...where,
        message: `"${word}" names no subject: say which of the nouns of docs/glossary.md is meant.`,
      })
    return {
      Program() {
        for (const { words, start } of proseOfComments(
          sourceCode.getAllComments(),
          sourceCode.text,
        ))
          for (const { word, at } of refusedSubjects(words)) {
            const index = start + at
            const loc = {
              start: sourceCode.getLocFromIndex(index),
              end: sourceCode.getLocFromIndex(index + word.length),
            }
            report({ loc }, word)
          }
      },
      ...visitTexts(
        (_kind, node, words) => {
          for (const { word } of refusedSubjects(words)) report({ node }, word)
        },
        { isTest: path.startsWith('test/') },
      ),
    }
  },
}

export default { meta: { name: 'words' }, rules: { subjects } }
