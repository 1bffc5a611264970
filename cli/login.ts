// isola login list|revoke: which clients were allowed in by an OAuth sign-in, and for whom.
import { noun, on } from './command.ts'
import { text } from './options.ts'
import { listed, short } from './text.ts'

export default noun('login', {
  list: on('GET /api/operator/grants', {
    about: 'Clients that were allowed in by an OAuth sign-in, newest first.',
    options: { principal: text('name') },
    says: ({ grants }) =>
      listed(grants, 'No client signed in by OAuth.', {
        id: 'id',
        principal: 'principal',
        state: 'state',
        client: ({ clientName }) => short(clientName, 40),
        for: ({ resource }) => new URL(resource).pathname,
        scopes: ({ scopes }) => scopes.join(' '),
        with: 'signedInWith',
        since: 'createdAtMs',
        until: 'expiresAtMs',
      }),
  }),
  revoke: on('POST /api/operator/grants/:grant/revoke', {
    usage: '<grant>',
    about: 'Ends what a client was allowed, with the next request.',
    asks: (id) => `End what ${id} allowed?`,
    says: ({ id, principal }) =>
      `${id} of ${principal} is revoked: its tokens open nothing from the next request on.`,
  }),
})
