// isola mcp …: remote MCP servers, what they offer, and what of it is approved.

import { verb, noun, on, type Context } from './command.ts'
import { flag, text, UsageError, texts } from './options.ts'
import { shown, short, lines } from './text.ts'
import { confirm as agreed } from './confirm.ts'
import { viewOf, type Server, listing } from './mcp/view.ts'
import { add } from './mcp/add.ts'

// isola mcp login: the deployment, or each principal for itself, signs in at a remote server.

/** Names the page to open; with a code, ends what was begun. */
const login = verb({
  usage: '<id> [--mine [--code <code>]]',
  about:
    'Names the page to sign in at. The browser comes back to this deployment, which keeps what it gets sealed.\n' +
    'Without --mine the deployment signs in, by an operator. With --mine you do, where each signs in ' +
    '(--each-signs-in):\n' +
    'the browser then shows a code, and --code <code> ends it.',
  options: {
    mine: flag('sign in yourself, where each does'),
    code: text(undefined, 'what the browser showed'),
  },
  async run({ args: [id], values: { mine, code }, ask, print }) {
    if (code !== undefined) {
      if (!mine) throw new UsageError('--code: goes with --mine.')
      const done = await ask('POST /api/mcp/:server/login/finish', { code })
      return print(done, `${id}: you are signed in.`)
    }
    const done = await ask(
      mine ? 'POST /api/mcp/:server/login' : 'POST /api/operator/mcp/:server/login',
    )
    if (done.state !== 'open') {
      const next = `no sign-in is needed. Next: isola mcp show ${id}`
      return print(done, `${id}: ${mine ? 'you are signed in.' : next}`)
    }
    const then = mine
      ? `Then, with the code that the browser shows: isola mcp login ${id} --mine --code <code>`
      : `Then: isola mcp show ${id}`
    print(done, `Open this page and sign in:\n\n${shown(done.url)}\n\n${then}`)
  },
})

// isola mcp approve: shows what was seen last, asks, and approves exactly that.

/** Approves exactly the listing that was shown: without a terminal its hash has to be named. */
const approve = verb({
  usage:
    '<id> [<item>…] [--yes --hash <hash>] [--confirm <tool>]… [--harmless <tool>]… [--closed <tool>]…',
  about:
    'Shows what was seen last and asks; with --yes it asks nothing, and --hash (12 digits of it or more) says ' +
    'what was seen.\n' +
    'Approves what was seen last, or of it only these; everything that was approved before and is not among ' +
    'them is not any more.\n' +
    "--confirm: this tool's own word that it only reads, may be repeated or reaches no stranger is " +
    "believed. '*' is all tools.\n" +
    "--harmless: it does not say whether it destroys, and does not: its calls do not ask. '*' is all " +
    'that say nothing.\n' +
    "--closed: no stranger writes where it reads, and what it is given stays there. '*' is all there is.",
  options: {
    yes: flag(undefined, { short: 'y', to: null }),
    hash: text(),
    confirm: texts(),
    harmless: texts(),
    closed: texts(),
  },
  async run({ args: [id, ...items], values, ask, sent, print, stdin, stderr }) {
    const { hash, yes } = values
    if (hash !== undefined && !/^[0-9a-f]{12,64}$/.test(hash))
      throw new UsageError('--hash: give the first 12 or more of its hex digits.')
    if (yes && hash === undefined)
      throw new UsageError(`--yes needs --hash, as isola mcp show ${id} printed it.`)
    if (!yes && !stdin.isTTY)
      throw new UsageError('Without a terminal to ask on, --yes and --hash are needed.')
    const view = await ask('GET /api/operator/mcp/:server')
    const { hash: seen, items: offered = [] } = view.listing ?? {}
    if (seen === undefined) throw new Error(`It was not looked at yet: isola mcp show ${id}`)
    if (hash !== undefined && !seen.startsWith(hash))
      throw new Error(`It is not ${hash} any more. Look again: isola mcp show ${id}`)
    checkItems(items, offered)
    if (!yes) {
      stderr.write(`${shown(viewOf(view))}\n`)
      if (!(await agreed(wanted(items), { stdin, stderr })))
        throw new Error('Nothing was approved.')
    }
    const done = await ask('POST /api/operator/mcp/:server/approve', {
      confirm: [],
      ...sent(),
      hash: seen,
      items: items.length > 0 ? items : undefined,
    })
    print(done, ['Approved.', ...done.notes].join('\n'))
  },
})

/** As the server would say it, before the question. */
function checkItems(wanted: readonly string[], items: NonNullable<Server['listing']>['items']) {
  for (const name of wanted) {
    const kinds = items.filter(({ key }) => key === name).map(({ kind }) => `${kind}:${name}`)
    if (kinds.length > 1)
      throw new Error(`"${short(name)}" is more than one thing; say which: ${kinds.join(' or ')}.`)
    if (kinds.length === 0 && !items.some(({ kind, key }) => name === `${kind}:${key}`))
      throw new Error(`The server has no "${short(name)}".`)
  }
}

const wanted = (items: readonly string[]) =>
  items.length === 0 ? 'Approve all of this?' : `Approve of it: ${short(items.join(', '), 500)}?`

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
