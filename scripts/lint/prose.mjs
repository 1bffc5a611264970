// The prose of a source file: its comments, the messages of its errors, and the titles of its tests, as plain text.

/** Code in backticks is no prose: its letters go, its length stays. */
const withoutCode = (text) => text.replace(/`[^`\n]*`/g, (code) => 'x'.repeat(code.length))

/** The words of a comment, without its signs; as long as it is, so that an offset leads back into the file. */
function wordsOf({ type, value }) {
  const blank = (signs) => ' '.repeat(signs.length)
  const text =
    type === 'Block' ? value.replace(/^[ \t]*\*+ ?/gm, blank).replace(/^\*+/, blank) : value
  // A tag begins a sentence, and so does an item of a list.
  const sentences = text.replace(/(^|\s)@\w+(?: \{[^}]*\})?(?: [\w.[\]]+(?= [A-Z`]))?/g, (tag) =>
    '.'.padStart(tag.length, ' '),
  )
  return withoutCode(sentences).replace(/^(\s*)- /gm, '$1. ')
}

/**
 * Comments as prose: line comments that follow each other are one text.
 *
 * @param comments `{ type, value, start, end }` in the order of the file; `text` is the file's.
 * @returns `{ words, start }` of each; `start` is the offset in the file of its first character.
 */
export function proseOfComments(comments, text) {
  const found = []
  let last
  for (const comment of comments) {
    const part = { words: wordsOf(comment), start: comment.start + 2 }
    const isNext =
      last?.type === 'Line' &&
      comment.type === 'Line' &&
      /^\r?\n[ \t]*$/.test(text.slice(last.end, comment.start))
    const gap = isNext ? part.start - found.at(-1).start - found.at(-1).words.length : 0
    if (isNext) found.at(-1).words += ' '.repeat(gap) + part.words
    else found.push(part)
    last = comment
  }
  return found.map(({ words, start }) => ({ words: words.replaceAll(/\r?\n/g, ' '), start }))
}

/** The text of a string or a template, a hole as a letter; undefined for anything else. */
function textOf(node) {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node?.type === 'TemplateLiteral')
    return node.quasis.map(({ value }) => value.cooked ?? value.raw).join('N')
  return undefined
}

const nameOf = (node) => node?.name ?? node?.value
const calleeOf = ({ callee }) =>
  callee?.type === 'MemberExpression' ? nameOf(callee.property) : nameOf(callee)
/** `it.each(table)('…')` and `it.skip('…')` are titles too. */
function isTestCall({ callee }) {
  let at = callee
  while (at?.type === 'CallExpression' || at?.type === 'MemberExpression')
    at = at.callee ?? at.object
  return /^(?:it|test|describe\w*)$/.test(nameOf(at) ?? '')
}

/** Texts within an argument: of a conditional and of a sum both sides. */
function textsIn(node) {
  switch (node?.type) {
    case 'ConditionalExpression':
      return [...textsIn(node.consequent), ...textsIn(node.alternate)]
    case 'BinaryExpression':
      return [...textsIn(node.left), ...textsIn(node.right)]
    case 'LogicalExpression':
      return textsIn(node.right)
    default:
      return textOf(node) === undefined ? [] : [node]
  }
}

/**
 * Visitor methods for a parser of ESTree: `onText(kind, node, words)` is told of each text that is prose: `error`, the
 * message of an error or a refusal, and in tests `title` alone, since an error there repeats the product's.
 */
export function visitTexts(onText, { isTest }) {
  const tell = (kind, nodes) => {
    for (const node of nodes) onText(kind, node, withoutCode(textOf(node)))
  }
  if (isTest)
    return {
      CallExpression: (node) => {
        if (isTestCall(node)) tell('title', textsIn(node.arguments[0]))
      },
    }
  return {
    NewExpression: (node) => {
      if (/(?:Error|Fault)$/.test(calleeOf(node) ?? ''))
        tell('error', node.arguments.flatMap(textsIn))
    },
    Property: ({ key, value, computed }) => {
      if (!computed && /^(?:message|error)$/.test(nameOf(key) ?? '')) tell('error', textsIn(value))
    },
  }
}

/** The prose of a page in Markdown: without fences, addresses and code. Each line keeps its number. */
export function proseOfPage(text) {
  const open = text.replace(/^(?:```|~~~)[^]*?^(?:```|~~~)/gm, (fence) =>
    fence.replace(/[^\n]+/g, ''),
  )
  return (
    withoutCode(open)
      .replace(/\]\([^)\n]*\)/g, (address) => ']'.padEnd(address.length, ' '))
      // No sentence stands in a heading; a cell and an item begin one.
      .replace(/^#+ .*$/gm, '')
      .replace(/\|/g, '.')
      .replace(/^(\s*)(?:[-*]|\d+\.) /gm, (sign) => '. '.padStart(sign.length, ' '))
      .replace(/\*\*|__/g, '  ')
  )
}
