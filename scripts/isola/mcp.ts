// isola mcp …: remote MCP servers, what they offer, and what of it is approved.
import { add } from './mcp/add.ts'
import { approve } from './mcp/approve.ts'
import { of, only, path, post } from './mcp/route.ts'
import { listed, viewOf } from './mcp/view.ts'
import { short, shown } from './text.ts'

async function show({ args, values, request, print }) {
  const id = only(args)
  const view = values.last ? await request(of(id)) : await post(request, of(id, 'look'))
  print(view, viewOf(view))
}

const simple = (verb, about) => ({
  usage: `isola mcp ${verb} <id>`,
  about,
  options: {},
  async run({ args, request, print }) {
    const id = only(args)
    const done =
      verb === 'remove'
        ? await request(of(id), { method: 'DELETE' })
        : await post(request, of(id, verb))
    print(done, [`${id}: ${verb}d.`, ...done.notes].join('\n'))
  },
})

/** @returns 1 if one of them is not well. */
async function doctor({ request, print }) {
  const { servers } = await request(path)
  const problems = []
  for (const { id, state } of servers.filter((one) => one.state !== 'disabled')) {
    const view = await post(request, of(id, 'look')).catch((error) => ({ problem: error.message }))
    const open = (view.differences ?? []).filter((one) => one.state !== 'same').length
    if (view.problem) problems.push({ id, problem: view.problem })
    else if (view.login === 'signed_out') problems.push({ id, problem: 'nobody is signed in' })
    else if (open > 0) problems.push({ id, problem: `${open} not as approved (${state})` })
  }
  const lines = problems.map(({ id, problem }) => `${id}: ${short(problem, 300)}`)
  print({ problems }, lines.length === 0 ? 'Every MCP server is well.' : lines.join('\n'))
  return problems.length > 0 ? 1 : 0
}

export default {
  noun: 'mcp',
  verbs: {
    add: {
      usage:
        "isola mcp add <id> --url <url> [--header 'Name: value']… [--oauth] [--auth-host <host>]… [--exclusive]\n                     [--client-id <id>] [--client-secret <name>] [--issuer <url>]\n                     [--elicitation] [--sampling-tokens <n>] [--replace]\n       isola mcp add --file <mcp.json|server.json|-> [--replace]",
      about:
        'Adds a remote server; nothing of it is on. In a header ${secret:NAME} stands for a secret.\n' +
        '--client-id <id> and --client-secret <NAME of a secret>: of a client that you registered by hand;\n' +
        '--issuer <url>: its authorization server (without it the first one that is used is the only one).\n' +
        '--elicitation: in the middle of a call it may ask the person of the run, under its name.\n' +
        '--sampling-tokens <n>: it may ask a model, within so many tokens each time that a call runs, and the lease of the run.\n' +
        '--replace: also where one of this name is there; nothing is approved of it any more.\n' +
        '--file takes a pasted mcpServers block or a server.json of a registry; - reads it from the standard input.',
      options: {
        url: { type: 'string' },
        header: { type: 'string', multiple: true },
        oauth: { type: 'boolean' },
        'auth-host': { type: 'string', multiple: true },
        'client-id': { type: 'string' },
        'client-secret': { type: 'string' },
        issuer: { type: 'string' },
        exclusive: { type: 'boolean' },
        elicitation: { type: 'boolean' },
        'sampling-tokens': { type: 'string' },
        replace: { type: 'boolean' },
        file: { type: 'string' },
      },
      run: add,
    },
    list: {
      usage: 'isola mcp list',
      about: 'Which there are, and which are on.',
      options: {},
      async run({ request, print }) {
        const all = await request(path)
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
      usage: 'isola mcp login <id>',
      about:
        'Names the page to sign in at. The browser comes back to this deployment, which keeps what it gets sealed.',
      options: {},
      async run({ args, request, print }) {
        const id = only(args)
        const done = await post(request, of(id, 'login'))
        print(
          done,
          done.state === 'open'
            ? `Open this page and sign in:\n\n${shown(done.url)}\n\nThen: isola mcp show ${id}`
            : `${id}: nobody has to sign in. Next: isola mcp show ${id}`,
        )
      },
    },
    approve: {
      usage:
        'isola mcp approve <id> [<item>…] [--yes --hash <hash>] [--confirm <tool>]… [--harmless <tool>]…',
      about:
        'Shows what was seen last and asks; with --yes it asks nobody, and --hash (12 digits of it or more) says what was seen.\n' +
        'Approves what was seen last, or of it only these; everything that was approved before and is not among them is not any more.\n' +
        "--confirm: this tool's own word that it only reads, or may be repeated, is believed.\n" +
        "--harmless: it does not say whether it destroys, and does not: nobody is asked before a call. '*' is all that say nothing.",
      options: {
        yes: { type: 'boolean' },
        hash: { type: 'string' },
        confirm: { type: 'string', multiple: true },
        harmless: { type: 'string', multiple: true },
      },
      run: approve,
    },
    enable: simple('enable', 'What is approved of it is on from the next run.'),
    disable: simple('disable', 'Off from the next run, and calls under way end.'),
    remove: simple('remove', 'Takes it away with all that is kept of it.'),
    doctor: {
      usage: 'isola mcp doctor',
      about:
        'Asks every server that is not off. Exit code 1 if one does not answer, or is not as approved.',
      options: {},
      run: doctor,
    },
  },
}
