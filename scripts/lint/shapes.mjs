// The kinds of code that contracts/ may hold. test/unit/lint-rooms.test.ts shows the rule saying no.
import { locate } from './place.mjs'

/** Constructors that cannot be written without a loop or a wait, each with the reason why contracts/ is their place. */
const exempt = {
  'contracts/defined.ts':
    'builds an object without its undefined fields: every room builds its objects so, and going through ' +
    'fields is a loop',
  'contracts/trace.ts':
    'makes an id out of its place: four rooms must make the same one, and mixing the bits of a text is a loop',
  'contracts/line-diff.ts':
    'compares what is approved: three rooms and the command show the same difference, and finding it is a loop',
  'contracts/foreign-json.ts':
    'reads line ends piece by piece: the model client and the public client read the same streams, and a ' +
    'piece is kept in between',
  'contracts/lease.ts':
    'adds amounts of the platform: the kernel and four rooms do so for each row that a run writes, so without a list',
  'contracts/reply.ts':
    'makes a reply out of what a promise comes to: every object answers by it, and a promise is waited for',
}

/** STYLE: what builds something with state, reads from elsewhere or adds to a registry. */
const worksByName = /^(?:create|compose|load|open|register|start)[A-Z]/
const isFunctionNode = (node) =>
  /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node?.type ?? '')

/**
 * contracts/ holds types, zod schemas, constants, error classes, and functions that build, narrow or convert a value
 * in one expression after the other. What loops, waits, keeps a variable or makes something with state is a decision
 * or work, and lives in the room that does it. Callbacks of a schema are part of the schema.
 */
export const shapesOnly = {
  meta: { type: 'problem', docs: { description: 'contracts/ holds shapes and constructors only' } },
  create(context) {
    const place = locate(context)
    if (place?.kind !== 'room' || place.name !== 'contracts' || exempt[place.path]) return {}
    const report = (node, what) =>
      context.report({
        node,
        message: `${what}: contracts/ holds types, schemas and constructors; this belongs to the room that uses it.`,
      })
    /** A function that stands for itself, not one that is handed to a schema. */
    const isOwnFunction = (node) =>
      node.type === 'FunctionDeclaration' ||
      (node.parent?.type === 'VariableDeclarator' && isFunctionNode(node))
    const isInOwnFunction = (node) => {
      for (let at = node.parent; at; at = at.parent) {
        if (isFunctionNode(at)) return isOwnFunction(at)
      }
      return false
    }
    const refuse = (what) => (node) => isInOwnFunction(node) && report(node, what)
    const checkName = (node, name) =>
      worksByName.test(name ?? '') && report(node, `"${name}" works`)
    return {
      ForStatement: refuse('A loop'),
      ForOfStatement: refuse('A loop'),
      ForInStatement: refuse('A loop'),
      WhileStatement: refuse('A loop'),
      DoWhileStatement: refuse('A loop'),
      AwaitExpression: refuse('A wait'),
      VariableDeclaration: (node) => node.kind !== 'const' && report(node, `"${node.kind}"`),
      FunctionDeclaration: (node) => checkName(node, node.id?.name),
      VariableDeclarator: (node) => isFunctionNode(node.init) && checkName(node, node.id.name),
    }
  },
}
