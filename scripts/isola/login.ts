// isola login list|revoke: which clients were allowed in by an OAuth sign-in, and for whom.
import { defineVerbs, type Context } from './command.ts'
import { short, table, time } from './text.ts'

async function list({
  values,
  request,
  print,
}: Context<{ readonly principal?: string | undefined }>) {
  const { principal } = values
  const answer = await request('GET /api/operator/grants', {
    query: { ...(principal && { principal }) },
  })
  const rows = answer.grants.map((grant) => [
    grant.id,
    grant.principal,
    grant.state,
    short(grant.clientName, 40),
    new URL(grant.resource).pathname,
    grant.scopes.join(' '),
    grant.signedInWith,
    time(grant.createdAtMs),
    time(grant.expiresAtMs),
  ])
  const head = ['id', 'principal', 'state', 'client', 'for', 'scopes', 'with', 'since', 'until']
  print(answer, rows.length === 0 ? 'Nobody signed in by OAuth.' : table([head, ...rows]))
}

async function revoke({ args: [id], request, print }: Context<object, [string]>) {
  const grant = await request('POST /api/operator/grants/:grant/revoke', { params: { grant: id } })
  print(
    grant,
    `${grant.id} of ${grant.principal} is revoked: its tokens open nothing from the next request on.`,
  )
}

export default {
  noun: 'login',
  verbs: defineVerbs({
    list: {
      usage: 'isola login list [--principal <name>]',
      about: 'Clients that were allowed in by an OAuth sign-in, newest first.',
      options: { principal: { type: 'string', value: 'name' } },
      run: list,
    },
    revoke: {
      usage: 'isola login revoke <grant> [--yes]',
      about: 'Ends what a client was allowed, with the next request.',
      asks: ({ args: [id] }: Context<object, [string]>) => `End what ${short(id)} allowed?`,
      run: revoke,
    },
  }),
}
