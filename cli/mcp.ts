// isola mcp …: remote MCP servers, what they offer, and what of it is approved.
import { noun, on, verb } from './command.ts'
import { add } from './mcp/add.ts'
import { approve } from './mcp/approve.ts'
import { login } from './mcp/login.ts'
import { listing, viewOf, type Server } from './mcp/view.ts'
import { flag } from './options.ts'
import { lines, short } from './text.ts'
import { UsageError } from './usage.ts'

const changed =
  (how: string) =>
  (
    { notes }: { readonly notes: readonly string[] },
    { args: [id] }: { readonly args: readonly string[] },
  ) =>
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
    async run({ args: [server], values, request, print }) {
      const params = { server }
      const view = values.last
        ? await request('GET /api/operator/mcp/:server', { params })
        : await request('POST /api/operator/mcp/:server/look', { params })
      print(view, viewOf(view))
    },
  }),
  login,
  logout: verb({
    usage: '<id> --mine',
    about: 'Ends your own sign-in: what is kept of it is gone, and calls under way end.',
    options: { mine: flag('sign in yourself, where each does') },
    /** Ends one's own sign-in. */
    async run({ args: [id], values: { mine }, request, print }) {
      if (!mine)
        throw new UsageError(
          `--mine: is needed. What the deployment is signed in with goes with isola mcp remove ${id}.`,
        )
      const done = await request('DELETE /api/mcp/:server/login', { params: { server: id } })
      print(done, `${id}: you are signed out.`)
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
    async run({ request, print }) {
      const { servers } = await request('GET /api/operator/mcp')
      const problems = []
      for (const { id, state } of servers.filter((one) => one.state !== 'disabled')) {
        const view: Partial<Server> = await request('POST /api/operator/mcp/:server/look', {
          params: { server: id },
        }).catch((error: Error) => ({ problem: error.message }))
        const open = (view.differences ?? []).filter((one) => one.state !== 'same').length
        if (view.problem) problems.push({ id, problem: view.problem })
        else if (view.login === 'signed_out') problems.push({ id, problem: signedOut(view) })
        else if (open > 0) problems.push({ id, problem: `${open} not as approved (${state})` })
      }
      const told = problems.map(({ id, problem }) => `${id}: ${short(problem, 300)}`)
      print({ problems }, told.join('\n') || 'Every MCP server is well.')
      return problems.length > 0 ? 1 : 0
    },
  }),
})
