// Who may build a submission. test/unit/lint-rooms.test.ts shows the rule saying no.
import { locate } from './place.mjs'

const builder = 'runtime/session/entry/'
const contract = '#runtime/session/types/submission.ts'
/** Names of the contract that only the builder and the receiver of a submission need. */
const ownNames = ['SubmitRequest', 'sessionProtocol']
/** The file outside of the builder that refuses a later protocol. */
const mayNameProtocol = ['runtime/session/runs/admission.ts']
/** Fields about the caller and the request; beside `messages` they make a submission. */
const settled = ['principal', 'idempotencyKey', 'protocol', 'dayLimits', 'allowedAgents', 'lineage']
/** Files in which such an object is something else. */
const exempt = {
  'runtime/session/runs/run-ports.ts': 'a run as the kernel takes it',
  'runtime/session/storage/store.ts': 'the place of a run that is still to come',
}
/** Methods of a session's object that take one, and rooms in which `run` is of something else. */
const takes = ['submit', 'run', 'runStream', 'compact']
const ownRuns = ['kernel', 'plugins', 'mcp-servers', 'embedded']

const keyOf = ({ key, computed }) => (computed ? key?.value : (key?.name ?? key?.value))
const memberOf = ({ property, computed }) => (computed ? property?.value : property?.name)

/**
 * One function builds a submission, whatever it is asked through: `submitAs`. Other code does not name the type of
 * what a session's object takes, puts one together, or hands one over.
 */
export const oneSubmission = {
  meta: {
    type: 'problem',
    docs: { description: 'submissions are built in sessions/entry/ alone' },
  },
  create(context) {
    const place = locate(context)
    if (
      place?.kind !== 'room' ||
      place.layer === 'embedded' ||
      place.path.includes('/types/') ||
      place.path.startsWith(builder)
    )
      return {}
    const isOfSessions = place.path.startsWith('runtime/session/')
    const report = (node, what) =>
      context.report({
        node,
        message:
          `${what}: a submission is built by submitAs in src/${builder} alone; say who asks, what, and ` +
          'from where.',
      })
    const isNamed = (name) =>
      isOfSessions
        ? name === 'sessionProtocol' && !mayNameProtocol.includes(place.path)
        : ownNames.includes(name)
    const checkSpecifiers = (node) => {
      if (node.source?.value !== contract) return
      for (const one of node.specifiers ?? []) {
        const name = (one.imported ?? one.local)?.name
        if (one.type === 'ImportNamespaceSpecifier' || isNamed(name)) report(one, name)
      }
    }
    return {
      ImportDeclaration: checkSpecifiers,
      ExportNamedDeclaration: checkSpecifiers,
      TSImportType: (node) => {
        const source = node.source ?? node.argument?.literal ?? node.argument
        if (source?.value === contract && !isOfSessions) report(node, contract)
      },
      ObjectExpression: (node) => {
        const given = new Map(
          node.properties.flatMap((one) => (one.type === 'Property' ? [[keyOf(one), one]] : [])),
        )
        const messages = given.get('messages')
        // A table about the fields holds none.
        if (!messages || typeof messages.value.value === 'boolean' || exempt[place.path]) return
        const field = settled.find((name) => given.has(name))
        if (field !== undefined) report(node, `\`messages\` beside \`${field}\``)
      },
      CallExpression: (node) => {
        if (isOfSessions || node.callee.type !== 'MemberExpression') return
        const method = memberOf(node.callee)
        if (method === 'run' && ownRuns.includes(place.name)) return
        if (takes.includes(method) && node.arguments.length === 2) report(node, method)
      },
    }
  },
}
