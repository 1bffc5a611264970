// isola mcp …: remote MCP servers, what they offer, and what of it is approved.
import { noun, on, verb, type Context } from './command.ts'
import { add } from './mcp/add.ts'
import { approve } from './mcp/approve.ts'
import { login } from './mcp/login.ts'
import { listing, viewOf, type Server } from './mcp/view.ts'
import { flag } from './options.ts'
import { lines, short } from './text.ts'
import { UsageError } from './usage.ts'

const changed =
  (how: string) =>
  ({ notes }: { readonly notes: readonly string[] }, { args: [id] }: Context) =>
    lines(`${id}: ${how}.`, notes)

const signedOut = ({ id, config }: Partial<Server>) =>
  config?.auth === 'principal'
    ? `you are not signed in: isola mcp login ${id} --mine`
    : 'the deployment is not signed in'

export default noun('mcp', {
  add,
  list: on('GET /api/operator/mcp', {
    about: 'Which there are, and which are on.',
    says: listing,
  }),
  show: verb({
    usage: '<id> [--last]',
    about:
      'Asks it what it offers, and compares that with what was approved. --last: as it was seen last.',
    options: { last: flag() },
    async run({ values, ask, print }) {
      const view = values.last
        ? await ask('GET /api/operator/mcp/:server')
        : await ask('POST /api/operator/mcp/:server/look')
      print(view, viewOf(view))
    },
  }),
  login,
  logout: verb({
    usage: '<id> --mine',
    about: 'Ends your own sign-in: what is kept of it is gone, and calls under way end.',
    options: { mine: flag('sign in yourself, where each does') },
    /** Ends one's own sign-in. */
    async run({ args: [id], values: { mine }, ask, print }) {
      if (!mine)
        throw new UsageError(
          `--mine: is needed. What the deployment is signed in with goes with isola mcp remove ${id}.`,
        )
      print(await ask('DELETE /api/mcp/:server/login'), `${id}: you are signed out.`)
    },
  }),
  forget: on('DELETE /api/operator/principals/:principal/mcp-logins', {
    usage: '<principal>',
    about: 'Ends every sign-in of a principal at servers where each signs in (operators).',
    asks: (principal) => `Sign ${principal} out everywhere?`,
    says: ({ servers }, { args: [principal] }) =>
      `${principal}: signed out at ${servers.join(', ') || 'no MCP server'}.`,
  }),
  approve,
  enable: on('POST /api/operator/mcp/:server/enable', {
    usage: '<id>',
    about: 'What is approved of it is on from the next run.',
    says: changed('enabled'),
  }),
  disable: on('POST /api/operator/mcp/:server/disable', {
    usage: '<id>',
    about: 'Off from the next run, and calls under way end.',
    says: changed('disabled'),
  }),
  remove: on('DELETE /api/operator/mcp/:server', {
    usage: '<id>',
    about: 'Takes it away with all that is kept of it.',
    asks: (id) => `Remove ${id}, and what was approved of it?`,
    says: changed('removed'),
  }),
  doctor: verb({
    about:
      'Asks every server that is not off. Exit code 1 if one does not answer, or is not as approved.',
    /** @returns 1 if one of them is not well. */
    async run({ ask, print }) {
      const { servers } = await ask('GET /api/operator/mcp')
      const problems = []
      for (const { id, state } of servers.filter((one) => one.state !== 'disabled')) {
        const look = ask('POST /api/operator/mcp/:server/look', undefined, [id])
        const view: Partial<Server> = await look.catch(({ message }: Error) => ({
          problem: message,
        }))
        const open = (view.differences ?? []).filter((one) => one.state !== 'same').length
        const problem =
          view.problem ||
          (view.login === 'signed_out' && signedOut(view)) ||
          (open > 0 && `${open} not as approved (${state})`)
        if (problem) problems.push({ id, problem })
      }
      const told = problems.map(({ id, problem }) => `${id}: ${short(problem, 300)}`)
      print({ problems }, told.join('\n') || 'Every MCP server is well.')
      return problems.length > 0 ? 1 : 0
    },
  }),
})
