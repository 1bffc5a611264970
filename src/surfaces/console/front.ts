import { errorCode } from '#contracts/errors.ts'
import { access, guarded } from '#platform/routes/access.ts'
import type { HttpApp, HttpContext, HttpDeps } from '#platform/routes/deps.ts'
import { htmlResponse } from '#platform/routes/html.ts'
import { selectedModel } from '#features/record/routes/health.ts'
import { toOutgoingError } from '#platform/routes/errors.ts'
import type { AddRoute } from '#platform/routes/routes.ts'
import { frontPage, icon } from './page.ts'

/** What a browser asks of any host before anybody has a key. */
export function addFrontRoutes(app: HttpApp, addRoute: AddRoute, deps: HttpDeps): void {
  const show = createFront(deps)
  // Not by `addRoute`, which answers every method: what is no browser gets what it would get without a page.
  app.get(
    '/',
    guarded(access['/'].GET, (context, next) => (wantsPage(context) ? show(context) : next())),
  )
  const headers = { 'cache-control': 'public, max-age=86400' }
  const svg = () => file(icon, { ...headers, 'content-type': 'image/svg+xml' })
  addRoute('/favicon.svg', { GET: svg })
  addRoute('/favicon.ico', { GET: svg })
  const robots = 'User-agent: *\nDisallow: /\n'
  addRoute('/robots.txt', {
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

function createFront(deps: HttpDeps): (context: HttpContext) => Promise<Response> {
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

/** What every request would be refused for, as it would be told to whoever asks. */
async function problemOf({ readiness }: HttpDeps): Promise<string | undefined> {
  try {
    const state = await readiness()
    return state.state === 'not_migrated' ? state.message : undefined
  } catch (error) {
    return toOutgoingError(error, '').body.error.message
  }
}

function modelOf(deps: HttpDeps): string | undefined {
  try {
    return selectedModel(deps)
  } catch (error) {
    // A model setting that names nothing is told to those who may know.
    if (errorCode(error) !== undefined) return undefined
    throw error
  }
}
