import { env, exports, waitUntil } from 'cloudflare:workers'
import { composeRuntime } from './compose/composition.ts'
import { defaultTiming } from './runtime/session/types/runtime.ts'
import { createCatalogClass } from './runtime/catalog/catalog-object.ts'
import { openOAuth } from './compose/sign-in.ts'
import { createPrincipalClass } from './compose/principal-object.ts'
import { createHttpApp } from './surfaces/http/app.ts'
import { createMcpServerClass } from './features/mcp-servers/mcp-object.ts'
import { createPluginServiceClass } from './features/plugins/capabilities/storage/plugin-service.ts'
import { createPluginRunnerClass } from './features/plugins/sandbox/plugin-runner.ts'
import { withTables } from './compose/object-upgrades.ts'
import { routeTable } from './routes.gen.ts'
import { createSessionClass } from './runtime/session/session-object.ts'
import { systemSources } from './compose/sources.ts'

const runtime = composeRuntime(env, systemSources, defaultTiming, {
  runner: () => exports.PluginRunner,
  openOAuth,
  waitUntil,
})
const app = createHttpApp(runtime.http, routeTable)

export class Session extends createSessionClass(() => runtime.session) {
  constructor(context: DurableObjectState, env: Env) {
    super(withTables('Session', context), env)
  }
}
export class Principal extends createPrincipalClass(() => runtime.principal) {
  constructor(context: DurableObjectState, env: Env) {
    super(withTables('Principal', context), env)
  }
}
export class Catalog extends createCatalogClass(() => runtime.catalog) {
  constructor(context: DurableObjectState, env: Env) {
    super(withTables('Catalog', context), env)
  }
}
export class PluginService extends createPluginServiceClass(() => runtime.pluginService) {
  constructor(context: DurableObjectState, env: Env) {
    super(withTables('PluginService', context), env)
  }
}
export class McpServer extends createMcpServerClass(() => runtime.mcpServer) {
  constructor(context: DurableObjectState, env: Env) {
    super(withTables('McpServer', context), env)
  }
}
export class PluginRunner extends createPluginRunnerClass(() => runtime.runner) {}

export default {
  fetch: (request, bindings, context) => app.fetch(request, bindings, context),
  scheduled: (trigger?: ScheduledController) => runtime.scheduled(trigger?.cron),
} satisfies ExportedHandler<Env>
