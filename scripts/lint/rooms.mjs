// Custom oxlint rules: what a room may import, which words the kernel may not know, and what no room
// reads from around itself. docs/design.md section 3 has the reasons; test/unit/lint-rooms.test.ts
// shows each rule saying no.
import { dirname, relative, resolve, sep } from 'node:path'
import { againstHouse, packages, placeOf } from './house.mjs'
import { locate } from './place.mjs'
import { shapesOnly } from './shapes.mjs'
import { oneSubmission } from './submission.mjs'
import { wayOut } from './way-out.mjs'

const matches = (pattern, specifier) =>
  pattern.endsWith('/*') ? specifier.startsWith(pattern.slice(0, -1)) : pattern === specifier

/** The reason why this import is refused, or undefined if it is allowed. */
function refusal(place, { filename, cwd }, specifier) {
  if (place.path === 'features/plugins/types/plugin.ts')
    return 'features/plugins/types/plugin.ts is `isola/plugin`: one file without imports.'
  const target = /^\.\.?(\/|$)/.test(specifier) ? resolve(dirname(filename), specifier) : undefined
  if (place.kind === 'plugin') {
    if (target)
      return target.startsWith(place.folder + sep)
        ? undefined
        : `${specifier} leaves the plugin's own folder.`
    return specifier === 'isola/plugin'
      ? undefined
      : `A bundled plugin imports only isola/plugin and its own folder, not ${specifier}.`
  }
  if (target) {
    const path = relative(resolve(cwd, 'src'), target).split(sep).join('/')
    if (path.startsWith('../')) return wires(place) ? undefined : `${specifier} leaves src/.`
    const [own, other] = [placeOf(place.path), placeOf(path)]
    if (own && other && (own.layer !== other.layer || own.room !== other.room) && !wires(own))
      return `${specifier} leaves the room ${place.name}: another room is imported as #<layer>/<room>/types.ts.`
    return againstHouse(place.path, path)
  }
  // The types of a client are those of all routes.
  if (place.name === 'client' && specifier === '#routes.gen.ts') return undefined
  if (specifier.startsWith('#')) return againstHouse(place.path, specifier.slice(1))
  if (wires(place)) return undefined
  // Types are zod schemas too.
  if (specifier === 'zod' && /^types(?:\.ts$|\/)/.test(place.inside)) return undefined
  if ((packages[place.name] ?? []).some((pattern) => matches(pattern, specifier))) return undefined
  return `The room ${place.name} may not import ${specifier}: see the table in scripts/lint/house.mjs.`
}

/** Wiring imports any room, by any path. */
const wires = ({ layer }) => ['compose', 'embedded'].includes(layer)

/** The text of a string literal or of a template without holes; undefined for anything else. */
function textOf(node) {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0)
    return node.quasis[0].value.cooked
  if (node?.type === 'TSLiteralType') return textOf(node.literal)
  return undefined
}

const imports = {
  meta: {
    type: 'problem',
    docs: { description: 'a room imports #contracts, itself and its own SDKs' },
  },
  create(context) {
    const place = locate(context)
    if (!place) return {}
    const check = (node, source) => {
      if (!source) return
      const specifier = textOf(source)
      const message =
        specifier === undefined
          ? 'An import whose name is computed cannot be checked.'
          : refusal(place, context, specifier)
      if (message) context.report({ node, message })
    }
    return {
      ImportDeclaration: (node) => check(node, node.source),
      ExportNamedDeclaration: (node) => check(node, node.source),
      ExportAllDeclaration: (node) => check(node, node.source),
      ImportExpression: (node) => check(node, node.source),
      TSImportType: (node) => check(node, node.source ?? node.argument),
      TSExternalModuleReference: (node) => check(node, node.expression),
      CallExpression: (node) => {
        if (node.callee.type === 'Identifier' && node.callee.name === 'require')
          check(node, node.arguments[0])
      },
    }
  },
}

/** Words that name where a tool came from (N3, E3). Whole names only; comments may say what they like. */
const originWords = [
  /^(origin|tool_?origin|sub_?agent|mcp|plugin|builtin|community|trusted|remote_?agent|human)$/i,
  /^is_?(sub_?agent|mcp|plugin|builtin|community|trusted|remote_?agent|human)$/i,
  /^trust_?tier$/i,
]
const namesOrigin = (text) => originWords.some((pattern) => pattern.test(text))

const isTier = (node) =>
  (node?.type === 'Identifier' && node.name === 'tier') ||
  (node?.type === 'MemberExpression' &&
    (node.computed ? textOf(node.property) : node.property.name) === 'tier') ||
  (node?.type === 'ChainExpression' && isTier(node.expression))

const noOrigin = {
  meta: {
    type: 'problem',
    docs: {
      description: "nothing in kernel/, context/ and session/ names a tool's origin",
    },
  },
  create(context) {
    const place = locate(context)
    if (
      place?.kind !== 'room' ||
      !['runtime/kernel', 'runtime/context', 'runtime/session'].includes(
        `${place.layer}/${place.name}`,
      ) ||
      place.inside.startsWith('types/')
    )
      return {}
    const report = (node, word) =>
      context.report({
        node,
        message: `"${word}" names a tool's origin, which this room cannot know (docs/design.md invariant 1).`,
      })
    const checkName = (node) => namesOrigin(node.name) && report(node, node.name)
    const checkText = (node) => {
      const text = textOf(node)
      if (text !== undefined && namesOrigin(text)) report(node, text)
    }
    return {
      Identifier: checkName,
      PrivateIdentifier: checkName,
      Literal: checkText,
      TemplateLiteral: checkText,
      BinaryExpression: (node) => {
        if (isTier(node.left) || isTier(node.right)) report(node, 'tier')
      },
      SwitchStatement: (node) => {
        if (isTier(node.discriminant)) report(node.discriminant, 'tier')
      },
    }
  },
}

/** Members of globals that read a clock, chance or the machine. `process` itself is refused by name. */
const ambientMembers = {
  Date: ['now'],
  Math: ['random'],
  crypto: ['randomUUID', 'getRandomValues'],
  performance: ['now', 'timeOrigin'],
}
const globalObjects = ['globalThis', 'self', 'global']
for (const name of globalObjects) ambientMembers[name] = ['process']

const noAmbient = {
  meta: {
    type: 'problem',
    docs: { description: 'clocks, ids and configuration are injected, not read' },
  },
  create(context) {
    const place = locate(context)
    if (place?.kind !== 'room' || wires(place)) return {}
    const report = (node, what) =>
      context.report({
        node,
        message: `${what} is ambient: clocks, ids and configuration are injected by compose/ (N4).`,
      })

    const isGlobal = (identifier) => {
      for (let scope = context.sourceCode.getScope(identifier); scope; scope = scope.upper) {
        const variable = scope.set.get(identifier.name)
        if (variable && variable.defs.length > 0) return false
      }
      return true
    }
    const memberName = (node) => (node.computed ? textOf(node.property) : node.property.name)
    /** The global that an expression stands for: `Date`, `globalThis.Date`. */
    const globalName = (node) => {
      if (node.type === 'Identifier') return isGlobal(node) ? node.name : undefined
      if (node.type !== 'MemberExpression' || node.object.type !== 'Identifier') return undefined
      return globalObjects.includes(node.object.name) && isGlobal(node.object)
        ? memberName(node)
        : undefined
    }
    const checkMember = (node, owner, member) => {
      if (ambientMembers[owner]?.includes(member)) report(node, `${owner}.${member}`)
    }
    const isEnv = (node) =>
      (node.type === 'Identifier' && node.name === 'env') ||
      (node.type === 'MemberExpression' && memberName(node) === 'env') ||
      ((node.type === 'TSNonNullExpression' || node.type === 'TSAsExpression') &&
        isEnv(node.expression))

    return {
      MemberExpression: (node) => {
        const owner = globalName(node.object)
        if (owner) checkMember(node, owner, memberName(node))
        // `env.X`, `this.env.X`, `c.env.X`, `import.meta.env.X`; passing `env` on whole is composition's business.
        if (isEnv(node.object)) report(node, 'Reading the Worker env')
        if (node.object.type === 'MetaProperty' && memberName(node) === 'env')
          report(node, 'import.meta.env')
      },
      VariableDeclarator: (node) => {
        if (node.id.type !== 'ObjectPattern' || !node.init) return
        const owner = globalName(node.init)
        for (const property of node.id.properties) {
          if (owner && property.type === 'Property')
            checkMember(property, owner, property.key.name ?? property.key.value)
        }
        if (isEnv(node.init)) report(node, 'Reading the Worker env')
      },
      Identifier: (node) => {
        if (node.name === 'process' && isReference(context, node) && isGlobal(node))
          report(node, 'process')
      },
      NewExpression: (node) => {
        if (node.arguments.length === 0 && globalName(node.callee) === 'Date')
          report(node, 'new Date()')
      },
      CallExpression: (node) => {
        if (globalName(node.callee) === 'Date') report(node, 'Date()')
      },
      ImportSpecifier: (node) => {
        if (
          node.parent.source.value === 'cloudflare:workers' &&
          ['env', 'withEnv'].includes(node.imported.name ?? node.imported.value)
        ) {
          report(node, 'env of cloudflare:workers')
        }
      },
    }
  },
}

/** Whether an identifier stands for a value here, rather than being the name of something declared. */
function isReference(context, identifier) {
  for (let scope = context.sourceCode.getScope(identifier); scope; scope = scope.upper) {
    if (scope.references.some((reference) => reference.identifier === identifier)) return true
  }
  return false
}

export default {
  meta: { name: 'rooms' },
  rules: {
    'shapes-only': shapesOnly,
    imports,
    'no-origin': noOrigin,
    'no-ambient': noAmbient,
    'one-submission': oneSubmission,
    'way-out': wayOut,
  },
}
