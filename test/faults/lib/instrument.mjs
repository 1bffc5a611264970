// Puts a failpoint around every `await` of a source text. Nothing else changes: while no failpoint is armed the
// calls hand through what they get, in the same tick, so no gap appears between a check and a write.
import { parseAst } from 'vite'

/** How the generated code names the runtime half (failpoint.ts). */
const runtimeName = '__failpoint'

/**
 * `await X` becomes `settled(name, await started(name, (before(name), X)))`: three places in which a fault can
 * strike, none of which adds a tick. A `for await` gets the same around each step of its iterator, a callback of `.then` before and after its synchronous part.
 * @returns The new text, and a name for each await in source order.
 */
export function instrument(text, { file, runtime }) {
  const found = []
  visit(parseAst(text, { lang: 'ts' }), [], found)
  const counts = new Map()
  const edits = []
  const names = []
  for (const { node, path } of found.sort((a, b) => placeOf(a.node) - placeOf(b.node))) {
    if (isStream(node)) {
      edits.push(...wrapped(node.arguments[0], `${runtimeName}.scoped(`))
      continue
    }
    const owner = isThen(node) ? `${ownerOf(path)}.then` : ownerOf(path)
    const n = (counts.get(owner) ?? 0) + 1
    counts.set(owner, n)
    const name = `${file}#${owner}.${n}`
    names.push(name)
    edits.push(...editsFor(node, JSON.stringify(name)))
  }
  if (names.length === 0) return { text, names }
  const head = `import * as ${runtimeName} from ${JSON.stringify(runtime)};`
  return { text: head + applyEdits(text, edits), names }
}

/** The links of a chain all begin where the chain does: they are told apart by what they call. */
const placeOf = (node) => (isThen(node) ? node.arguments[0].start : node.start)

const isAwait = (node) =>
  node.type === 'AwaitExpression' || (node.type === 'ForOfStatement' && node.await)

const isThen = (node) =>
  node.type === 'CallExpression' &&
  node.callee.type === 'MemberExpression' &&
  node.callee.property.name === 'then' &&
  node.arguments.length > 0

/** Streams are pulled from outside of every object's scope. */
const isStream = (node) =>
  node.type === 'NewExpression' &&
  node.callee.name === 'ReadableStream' &&
  node.arguments.length > 0

function visit(node, path, found) {
  if (isAwait(node) || isThen(node) || isStream(node)) found.push({ node, path })
  if (node.type === 'VariableDeclaration' && node.kind === 'await using')
    throw new Error('"await using" has no failpoint yet: teach test/faults/lib/instrument.mjs')
  const inner = [...path, node]
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === 'string') visit(child, inner, found)
    }
  }
}

/** The name of the innermost function that has one. */
function ownerOf(path) {
  for (let index = path.length - 1; index >= 0; index -= 1) {
    const name = nameOf(path[index], path[index - 1])
    if (name) return ownedName(name, path.slice(0, index))
  }
  return 'module'
}

/** A method of a named object goes by both names: `execute.pass`. */
function ownedName(name, path) {
  const [variable, object, property] = path.slice(-3)
  const isMethod = property?.type === 'Property' && object.type === 'ObjectExpression'
  return isMethod && variable?.type === 'VariableDeclarator' ? `${variable.id.name}.${name}` : name
}

const isFunction = ({ type }) =>
  type === 'FunctionDeclaration' ||
  type === 'FunctionExpression' ||
  type === 'ArrowFunctionExpression'

function nameOf(node, parent) {
  if (!isFunction(node)) return undefined
  if (node.id) return node.id.name
  switch (parent?.type) {
    case 'VariableDeclarator':
      return parent.id.name
    case 'Property':
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return parent.key.name
    default:
      return undefined
  }
}

const wrapped = ({ start, end }, opening) => [
  { at: start, text: opening, opens: true },
  { at: end, text: ')', opens: false },
]

function editsFor(node, name) {
  if (node.type === 'ForOfStatement') return wrapped(node.right, `${runtimeName}.steps(${name}, `)
  if (isThen(node)) return wrapped(node.arguments[0], `${runtimeName}.link(${name}, `)
  const { argument } = node
  return [
    { at: node.start, text: `${runtimeName}.settled(${name}, `, opens: true },
    {
      at: argument.start,
      text: `${runtimeName}.started(${name}, (${runtimeName}.before(${name}), `,
      opens: true,
    },
    { at: argument.end, text: '))', opens: false },
    { at: node.end, text: ')', opens: false },
  ]
}

/** Edits come outermost first: at one place what closes goes innermost first, and before what opens. */
function applyEdits(text, edits) {
  const ordered = edits
    .map((edit, index) => ({ ...edit, index }))
    .sort(
      (a, b) =>
        a.at - b.at ||
        Number(a.opens) - Number(b.opens) ||
        (a.opens ? a.index - b.index : b.index - a.index),
    )
  let result = ''
  let done = 0
  for (const { at, text: inserted } of ordered) {
    result += text.slice(done, at) + inserted
    done = at
  }
  return result + text.slice(done)
}
