import { env, exports, waitUntil } from 'cloudflare:workers'
import { composeRuntime } from './composition.ts'
import { defaultTiming } from '#contracts/runtime.ts'
import { createCatalogClass } from './catalog/catalog-object.ts'
import { openOAuth } from './governance/oauth/compose.ts'
import { createPrincipalClass } from './governance/principal-object.ts'
import { createHttpApp } from './http/app.ts'
import { createMcpServerClass } from './mcp/mcp-object.ts'
import { createPluginServiceClass } from './plugins/capabilities/storage/plugin-service.ts'
import { createPluginRunnerClass } from './plugins/sandbox/plugin-runner.ts'
import { createSessionClass } from './sessions/session-object.ts'
import { systemSources } from './sources.ts'

const runtime = composeRuntime(env, systemSources, defaultTiming, {
  runner: () => exports.PluginRunner,
  openOAuth,
  waitUntil,
})
const app = createHttpApp(runtime.http)

export class Session extends createSessionClass(() => runtime.session) {}
export class Principal extends createPrincipalClass(() => runtime.principal) {}
export class Catalog extends createCatalogClass(() => runtime.catalog) {}
export class PluginService extends createPluginServiceClass(() => runtime.pluginService) {}
export class McpServer extends createMcpServerClass(() => runtime.mcpServer) {}
export class PluginRunner extends createPluginRunnerClass(() => runtime.runner) {}

export default {
  fetch: (request, bindings, context) => app.fetch(request, bindings, context),
  scheduled: (trigger?: ScheduledController) => runtime.scheduled(trigger?.cron),
} satisfies ExportedHandler<Env>
