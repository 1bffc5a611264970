// isola login list|revoke: which clients were allowed in by an OAuth sign-in, and for whom.
import { short, table, time } from './text.ts'

const path = '/api/operator/grants'

async function list({ values, request, print }) {
  const query = values.principal ? `?principal=${encodeURIComponent(values.principal)}` : ''
  const answer = await request(path + query)
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

async function revoke({ args: [id], request, print }) {
  const grant = await request(`${path}/${encodeURIComponent(id)}/revoke`, {
    method: 'POST',
    json: {},
  })
  print(
    grant,
    `${grant.id} of ${grant.principal} is revoked: its tokens open nothing from the next request on.`,
  )
}

export default {
  noun: 'login',
  verbs: {
    list: {
      usage: 'isola login list [--principal <name>]',
      about: 'Clients that were allowed in by an OAuth sign-in, newest first.',
      options: { principal: { type: 'string', value: 'name' } },
      run: list,
    },
    revoke: {
      usage: 'isola login revoke <grant>',
      about: 'Ends what a client was allowed, with the next request.',
      run: revoke,
    },
  },
}
