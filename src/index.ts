import { env } from 'cloudflare:workers'
import { composeRuntime } from './composition.ts'
import { createPrincipalClass } from './governance/principal-object.ts'
import { createHttpApp } from './http/app.ts'
import { createSessionClass } from './sessions/session-object.ts'

const runtime = composeRuntime(env)
const app = createHttpApp(runtime.http)

export class Session extends createSessionClass(() => runtime.session) {}
export class Principal extends createPrincipalClass(() => runtime.principal) {}

export default {
  fetch: (request, bindings, context) => app.fetch(request, bindings, context),
  scheduled: () => runtime.daily(),
} satisfies ExportedHandler<Env>
