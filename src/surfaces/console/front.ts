import { errorCode } from '#contracts/errors.ts'
import { htmlResponse } from '#platform/routes/html.ts'
import { selectedModel } from '#features/record/routes/health.ts'
import { toOutgoingError } from '#platform/routes/errors.ts'
import type { AddOpen } from '#platform/routes/mount.ts'
import type { Targets } from '#platform/routes/targets.ts'
import type { GuardDeps, HttpApp, HttpContext } from '#platform/routes/types.ts'
import { frontPage, icon } from './page.ts'

export interface FrontDeps extends Pick<GuardDeps, 'readiness'> {
  /** On a developer's own machine a visitor may know which model answers. */
  readonly isDevelopment: boolean
  readonly models: Targets['models']
}

/** The pages that a browser may request before its user has a key. */
export function addFrontRoutes(app: HttpApp, add: AddOpen, deps: FrontDeps): void {
  const show = createFront(deps)
  // Not by `add`, which answers every method: a client that is no browser gets the same as without a page.
  app.get('/', (context, next) => (wantsPage(context) ? show(context) : next()))
  const headers = { 'cache-control': 'public, max-age=86400' }
  const svg = () => file(icon, { ...headers, 'content-type': 'image/svg+xml' })
  add('/favicon.svg', { GET: svg })
  add('/favicon.ico', { GET: svg })
  const robots = 'User-agent: *\nDisallow: /\n'
  add('/robots.txt', {
    GET: () => file(robots, { ...headers, 'content-type': 'text/plain; charset=utf-8' }),
  })
}

/** A browser names HTML; programs name JSON, or take anything. */
const wantsPage = ({ req }: HttpContext): boolean =>
  /\btext\/html\b/i.test(req.header('accept') ?? '')

const file = (body: string, headers: Readonly<Record<string, string>>): Response =>
  new Response(body, {
    headers: { 'content-security-policy': `default-src 'none'`, ...headers },
  })

function createFront(deps: FrontDeps): (context: HttpContext) => Promise<Response> {
  return async ({ req }) => {
    const html = frontPage({
      origin: new URL(req.url).origin,
      isDevelopment: deps.isDevelopment,
      model: modelOf(deps),
      problem: await problemOf(deps),
    })
    // The icon is the one thing that it loads.
    const policy = [`img-src 'self'`, `form-action 'none'`]
    return htmlResponse(html, { status: 200, policy, headers: { vary: 'accept' } })
  }
}

/** The fault for which every request would be refused, in the words of that refusal. */
async function problemOf({ readiness }: FrontDeps): Promise<string | undefined> {
  try {
    const state = await readiness()
    return state.state === 'not_migrated' ? state.message : undefined
  } catch (error) {
    return toOutgoingError(error, '').body.error.message
  }
}

function modelOf(deps: FrontDeps): string | undefined {
  try {
    return selectedModel(deps)
  } catch (error) {
    // A faulty model setting is shown to operators, and not on this page.
    if (errorCode(error) !== undefined) return undefined
    throw error
  }
}
