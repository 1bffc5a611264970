// isola approval …: calls that wait for a decision, in the caller's own sessions or, for operators, in every session.
import {
  allowCalls,
  allowOptions,
  denyIds,
  denyWaiting,
  describedFound,
  saidTo,
} from './approval-decide.ts'
import { findCall, findInSession, type Found } from './approval-find.ts'
import { listVerb } from './approval-list.ts'
import { readText } from './approval-text.ts'
import { noun, on, verb } from './command.ts'
import { flag, text } from './options.ts'
import { listed, short } from './text.ts'
import { UsageError } from './usage.ts'

export default noun('approval', {
  list: {
    ...listVerb,
    about:
      'All that you may decide: calls of all sessions that wait for a yes of yours (operators, auditors to read, authors\n' +
      'theirs), and what waits in your own sessions. With a filter calls that wait or waited for a yes only.',
  },
  inbox: { ...listVerb, about: 'The same as `list`.' },
  show: verb({
    usage: '<id>',
    about: 'One of them: arguments, who asks and why, what was read before, what it does.',
    async run({ args: [id], request, connect, print }) {
      const found = await findCall(request, id)
      const { entry, waiting } = found
      const said = entry && (await saidTo(entry, connect()))
      const told = said === undefined ? '' : `\nThe model was told: ${short(said, 2_000)}`
      const value = entry ? { ...entry, ...(said !== undefined && { message: said }) } : waiting
      print(value, describedFound(found) + told)
    },
  }),
  allow: verb({
    usage:
      '<id>… [--for once|session|always] [--free <field>]… [--days <n>] [--yes] [--dry-run]\n' +
      '                      [--cost <usd>] [--tokens <n>] …',
    about:
      'Lets them run with exactly the arguments that are shown. Several must be alike.\n' +
      '--for session|always: also later calls like it, behind no worse label; --free: a field that may change.\n' +
      '--cost, --tokens …: what a run that waits at a limit may spend from now on, in all.',
    options: allowOptions,
    run: (context) =>
      allowCalls(context, async () => {
        const found: Found[] = []
        for (const id of context.args) found.push(await findCall(context.request, id))
        return found
      }),
  }),
  rules: on('GET /api/approval-rules', {
    about: 'What was allowed besides single calls, and until when.',
    options: {
      all: flag('of all principals; for operators and auditors', { to: 'principal', sends: '*' }),
    },
    says: ({ rules }) =>
      listed(rules, 'No rules.', {
        id: 'id',
        tool: 'tool',
        principal: 'principal',
        in: ({ session }) => session ?? 'every session',
        free: ({ free }) => Object.keys(free).join(', ') || 'nothing',
        'up to': ({ label }) => readText(label),
        'allowed by': ({ decidedBy }) => decidedBy.principal,
        until: 'expiresAtMs',
      }),
  }),
  revoke: on('DELETE /api/approval-rules/:rule', {
    usage: '<rule>',
    about: 'The next call of its shape asks again.',
    asks: (rule) => `Revoke ${rule}?`,
    says: (_done, { args: [rule] }) => `${rule} is revoked: the next call asks again.`,
  }),
  approve: verb({
    usage:
      '<session> <call> [--hash <hash>] [options of allow]\n       isola approval approve <id> [--hash <hash>] [options of allow]',
    about:
      'Lets the call run with exactly the arguments that are shown. On the record with who did it.',
    options: {
      ...allowOptions,
      hash: text('hash', 'the `argsHash` that you looked at; asks nothing', { to: null }),
    },
    run(context) {
      const { request, values } = context
      const [id, call]: readonly [string, string?] = context.args
      const find = async (): Promise<Found> =>
        call === undefined
          ? findCall(request, id)
          : { id: call, waiting: await findInSession(request, id, call) }
      return allowCalls({ ...context, args: [id] }, async () => [await find()], values.hash)
    },
  }),
  deny: verb({
    usage:
      '<id>… [--message <text>]\n       isola approval deny <session> <call> [--message <text>]',
    about: 'The call does not run; its model reads why. A run at its limit ends with what it has.',
    options: { message: text('text', 'told to the model') },
    async run(context) {
      const { args, values, request } = context
      const [session, call] = args
      if (!session.startsWith('ses_')) return denyIds(context, args, values.message)
      if (call === undefined || args.length > 2)
        throw new UsageError('Name a session and a call of it, or ids of `isola approval list`.')
      const waiting = await findInSession(request, session, call)
      return denyWaiting(context, waiting, values.message)
    },
  }),
})
