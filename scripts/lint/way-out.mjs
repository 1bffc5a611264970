// Where requests leave from. test/unit/lint-rooms.test.ts shows the rule saying no.
import { relative, sep } from 'node:path'

/** Files in which something is called `fetch` that is no way out, each with the reason. */
export const otherFetches = {
  'src/index.ts': "the Worker's own entry, which the platform calls",
  'src/client/client.ts':
    'is `isola/client`: runs in programs of others, nothing of a deployment imports it',
  'src/surfaces/mcp/mcp.ts': 'the handler of a library, which answers a request in this isolate',
  'src/features/access/oauth/library.ts': 'the same',
  'src/features/access/oauth/protocol.ts': 'the same',
  'src/features/mcp-servers/connection.ts': 'hands the guarded way to a library that calls it so',
  'src/platform/d1/assets.ts': 'files that were uploaded with the Worker, by their binding',
  'src/features/plugins/types/plugin.ts': "a call's own egress, as a plugin sees it",
  'src/features/plugins/capabilities/capabilities.ts': 'the same',
  'src/features/plugins/sandbox/host-stubs.ts': 'the same',
  'src/features/plugins/sandbox/inside/capabilities.ts':
    'the same, inside an isolate that has no network',
  'src/features/plugins/sandbox/inside/prelude.ts': 'the same',
  'src/features/plugins/sandbox/inside/entry.ts': 'the same',
}

/** Other things of the platform that open a connection. */
const connections = ['WebSocket', 'EventSource', 'XMLHttpRequest']

/** The text of a member that is not written as a name: `globalThis['fetch']`. */
const memberText = ({ computed, property }) =>
  computed && property.type === 'Literal' ? property.value : undefined

/**
 * `fetch` is in outbound/ alone: nowhere else in src/ is it called, handed on, taken from a global or a stub, or
 * asked for as a type. A room that needs to send something is given a `Send`.
 */
export const wayOut = {
  meta: { type: 'problem', docs: { description: 'requests leave through outbound/ alone' } },
  create(context) {
    const path = relative(context.cwd, context.filename).split(sep).join('/')
    if (!path.startsWith('src/') || path.startsWith('src/platform/outbound/') || otherFetches[path])
      return {}
    const report = (node, name) =>
      context.report({
        node,
        message:
          `"${name}" is a way out of its own: what leaves goes through outbound/ ` +
          '(#contracts/outbound.ts, Send).',
      })
    return {
      Identifier: (node) => node.name === 'fetch' && report(node, 'fetch'),
      MemberExpression: (node) => memberText(node) === 'fetch' && report(node, 'fetch'),
      NewExpression: ({ callee }) => {
        const name = callee.type === 'MemberExpression' ? callee.property.name : callee.name
        if (connections.includes(name)) report(callee, name)
      },
    }
  },
}
