// isola approval …: calls that wait for a decision, in the caller's own sessions or, for operators, in every session.
import { listVerbs } from './approval-list.ts'
import { denyCall } from './approval-decide.ts'
import { findCall, findInSession } from './approval-find.ts'
import { allowFound, allowOptions, denyIds, inboxVerbs } from './approval-inbox.ts'
import { defineVerbs, type Context, type ValuesOf } from './command.ts'
import { UsageError } from './usage.ts'

const approveOptions = {
  ...allowOptions,
  hash: {
    type: 'string',
    value: 'hash',
    about: 'the `argsHash` that you looked at; asks nothing',
  },
} as const
type ApproveValues = ValuesOf<typeof approveOptions>

/** `allow` of one call, which may also be named by its session, and by the arguments that were looked at. */
async function approve(context: Context<ApproveValues, [string, string?]>) {
  const { args, values, request } = context
  const [id, call] = args
  const { hash } = values
  const found =
    call === undefined
      ? await findCall(request, id)
      : { id: call, waiting: await findInSession(request, id, call) }
  return allowFound({ ...context, args: [id] }, [found], hash)
}

async function deny(context: Context<{ readonly message?: string | undefined }>) {
  const { args, values, request, print } = context
  const { message } = values
  const [session = '', call] = args
  if (!session.startsWith('ses_')) return denyIds(context, args, message)
  if (call === undefined || args.length > 2)
    throw new UsageError('Name a session and a call of it, or ids of `isola approval list`.')
  const { view, text } = await denyCall(
    request,
    await findInSession(request, session, call),
    message,
  )
  print(view, text)
}

export default {
  noun: 'approval',
  verbs: defineVerbs({
    ...listVerbs,
    ...inboxVerbs,
    approve: {
      usage:
        'isola approval approve <session> <call> [--hash <hash>] [options of allow]\n       isola approval approve <id> [--hash <hash>] [options of allow]',
      about:
        'Lets the call run with exactly the arguments that are shown. On the record with who did it.',
      options: approveOptions,
      run: approve,
    },
    deny: {
      usage:
        'isola approval deny <id>… [--message <text>]\n       isola approval deny <session> <call> [--message <text>]',
      about:
        'The call does not run; its model reads why. A run at its limit ends with what it has.',
      options: { message: { type: 'string', value: 'text', about: 'told to the model' } },
      run: deny,
    },
  }),
}
