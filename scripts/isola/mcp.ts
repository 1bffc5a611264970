// isola mcp …: remote MCP servers, what they offer, and what of it is approved.
import { defineVerbs, type Context } from './command.ts'
import { add, addOptions } from './mcp/add.ts'
import { approve, approveOptions } from './mcp/approve.ts'
import { forget, login, loginOptions, logout, logoutOptions } from './mcp/login.ts'
import { listed, viewOf, type Server } from './mcp/view.ts'
import { only } from './only.ts'
import { short } from './text.ts'

async function show({
  args,
  values,
  request,
  print,
}: Context<{ readonly last?: boolean | undefined }>) {
  const params = { server: only(args, '<id>') }
  const view = values.last
    ? await request('GET /api/operator/mcp/:server', { params })
    : await request('POST /api/operator/mcp/:server/look', { params })
  print(view, viewOf(view))
}

const changes = {
  enable: 'POST /api/operator/mcp/:server/enable',
  disable: 'POST /api/operator/mcp/:server/disable',
  remove: 'DELETE /api/operator/mcp/:server',
} as const

/** Makes the change of a verb. */
const change = (verb: keyof typeof changes) =>
  async function run({ args, request, print }: Context) {
    const id = only(args, '<id>')
    const done = await request(changes[verb], { params: { server: id } })
    print(done, [`${id}: ${verb}d.`, ...done.notes].join('\n'))
  }

/** @returns 1 if one of them is not well. */
async function doctor({ request, print }: Context) {
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
  const lines = problems.map(({ id, problem }) => `${id}: ${short(problem, 300)}`)
  print({ problems }, lines.length === 0 ? 'Every MCP server is well.' : lines.join('\n'))
  return problems.length > 0 ? 1 : 0
}

const signedOut = ({ id, config }: Partial<Server>) =>
  config?.auth === 'principal'
    ? `you are not signed in: isola mcp login ${id} --mine`
    : 'nobody is signed in'

export default {
  noun: 'mcp',
  verbs: defineVerbs({
    add: {
      usage:
        "isola mcp add <id> --url <url> [--header 'Name: value']… [--oauth | --each-signs-in] [--auth-host <host>]…\n                     [--exclusive] [--client-id <id>] [--client-secret <name>] [--issuer <url>]\n                     [--elicitation] [--sampling-tokens <n>] [--replace] [--dry-run]\n       isola mcp add --file <mcp.json|server.json|-> [--replace] [--dry-run]",
      about:
        'Adds a remote server; nothing of it is on. In a header ${secret:NAME} stands for a secret.\n' +
        '--oauth: the deployment signs in there, for everybody. --each-signs-in: each principal for itself.\n' +
        '--client-id <id> and --client-secret <NAME of a secret>: of a client that you registered by hand;\n' +
        '--issuer <url>: its authorization server (without it the first one that is used is the only one).\n' +
        '--elicitation: in the middle of a call it may ask the person of the run, under its name.\n' +
        '--sampling-tokens <n>: it may ask a model, within so many tokens each time that a call runs, and the lease of the run.\n' +
        '--replace: also where one of this name is there; nothing is approved of it any more.\n' +
        '--file takes a pasted mcpServers block or a server.json of a registry; - reads it from the standard input.',
      options: addOptions,
      run: add,
    },
    list: {
      usage: 'isola mcp list',
      about: 'Which there are, and which are on.',
      options: {},
      async run({ request, print }) {
        const all = await request('GET /api/operator/mcp')
        print(all, listed(all))
      },
    },
    show: {
      usage: 'isola mcp show <id> [--last]',
      about:
        'Asks it what it offers, and compares that with what was approved. --last: as it was seen last.',
      options: { last: { type: 'boolean' } },
      run: show,
    },
    login: {
      usage: 'isola mcp login <id> [--mine [--code <code>]]',
      about:
        'Names the page to sign in at. The browser comes back to this deployment, which keeps what it gets sealed.\n' +
        'Without --mine the deployment signs in, by an operator. With --mine you do, where each signs in (--each-signs-in):\n' +
        'the browser then shows a code, and --code <code> ends it.',
      options: loginOptions,
      run: login,
    },
    logout: {
      usage: 'isola mcp logout <id> --mine',
      about: 'Ends your own sign-in: what is kept of it is gone, and calls under way end.',
      options: logoutOptions,
      run: logout,
    },
    forget: {
      usage: 'isola mcp forget <principal> [--yes]',
      about: 'Ends every sign-in of a principal at servers where each signs in (operators).',
      asks: ({ args: [principal] }: Context<object, [string]>) =>
        `Sign ${short(principal)} out everywhere?`,
      run: forget,
    },
    approve: {
      usage:
        'isola mcp approve <id> [<item>…] [--yes --hash <hash>] [--confirm <tool>]… [--harmless <tool>]… [--closed <tool>]…',
      about:
        'Shows what was seen last and asks; with --yes it asks nobody, and --hash (12 digits of it or more) says what was seen.\n' +
        'Approves what was seen last, or of it only these; everything that was approved before and is not among them is not any more.\n' +
        "--confirm: this tool's own word that it only reads, may be repeated or reaches no stranger is believed. '*' is all tools.\n" +
        "--harmless: it does not say whether it destroys, and does not: nobody is asked before a call. '*' is all that say nothing.\n" +
        "--closed: no stranger writes where it reads, and what it is given stays there. '*' is all there is.",
      options: approveOptions,
      run: approve,
    },
    enable: {
      usage: 'isola mcp enable <id>',
      about: 'What is approved of it is on from the next run.',
      run: change('enable'),
    },
    disable: {
      usage: 'isola mcp disable <id>',
      about: 'Off from the next run, and calls under way end.',
      run: change('disable'),
    },
    remove: {
      usage: 'isola mcp remove <id> [--yes]',
      about: 'Takes it away with all that is kept of it.',
      asks: ({ args: [id] }: Context<object, [string]>) =>
        `Remove ${short(id)}, and what was approved of it?`,
      run: change('remove'),
    },
    doctor: {
      usage: 'isola mcp doctor',
      about:
        'Asks every server that is not off. Exit code 1 if one does not answer, or is not as approved.',
      options: {},
      run: doctor,
    },
  }),
}
