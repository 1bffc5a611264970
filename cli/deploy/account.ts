// The login of wrangler, and the account of the tenant.

const login = 'Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN.'

import type { Wrangler } from './wrangler.ts'

interface Account {
  readonly id: string
  readonly name: string
}
interface Known {
  readonly named?: string | undefined
  readonly known?: string | undefined
}

/** The account to deploy to: a named account wins; several without a name are an error that asks for the name. */
function chooseAccount({
  accounts,
  named,
  known,
}: Known & { readonly accounts: readonly Account[] }): string {
  const list = accounts.map(({ id, name }) => `${id} (${name})`).join(', ')
  if (named && known && named !== known) {
    throw new Error(
      `This tenant is in account ${known}, CLOUDFLARE_ACCOUNT_ID names ${named}. ` +
        'For a second one there choose another --tenant; to move it, see docs/deploy.md.',
    )
  }
  const chosen = named || known
  if (chosen) {
    if (accounts.length > 0 && !accounts.some(({ id }) => id === chosen))
      throw new Error(`This login has no account ${chosen}. It has: ${list}.`)
    return chosen
  }
  const [first] = accounts
  if (first !== undefined && accounts.length === 1) return first.id
  throw new Error(
    accounts.length === 0
      ? 'This login does not list its accounts: set CLOUDFLARE_ACCOUNT_ID.'
      : `This login has several accounts: set CLOUDFLARE_ACCOUNT_ID to one of ${list}.`,
  )
}

interface WhoAmI {
  readonly loggedIn?: boolean
  readonly accounts?: readonly Account[]
}

/** Asks wrangler who is logged in; `whoami` fails without a login. */
export async function findAccount(wrangler: Wrangler, { named, known }: Known): Promise<string> {
  const loggedOut = 'This machine is not logged in to Cloudflare. '
  const answer = await wrangler.json<WhoAmI>(['whoami', '--json']).catch((error: Error) => {
    if (!/"loggedIn":\s*false/.test(error.message)) throw error
    throw new Error(loggedOut + login, { cause: error })
  })
  if (answer.loggedIn === false) throw new Error(loggedOut + login)
  return chooseAccount({ accounts: answer.accounts ?? [], named, known })
}
