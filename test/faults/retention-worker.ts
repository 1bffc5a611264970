// The product with a short life for sessions without a name, for retention.mjs only. Nothing of this is in a deployment.
import { env } from 'cloudflare:workers'
import { createCatalogClass } from '../../src/runtime/catalog/catalog-object.ts'
import { composeRuntime } from '../../src/compose/composition.ts'
import { defaultTiming } from '../../src/runtime/session/types/runtime.ts'
import { createPrincipalClass } from '../../src/compose/principal-object.ts'
import { createHttpApp } from '../../src/surfaces/http/app.ts'
import { routeTable } from '../../src/routes.gen.ts'
import { createMcpServerClass } from '../../src/features/mcp-servers/mcp-object.ts'
import { createPluginServiceClass } from '../../src/features/plugins/capabilities/storage/plugin-service.ts'
import { createSessionClass } from '../../src/runtime/session/session-object.ts'
import { systemSources } from '../../src/compose/sources.ts'

const timing = { ...defaultTiming, recoverEveryMs: 1_000, keepStatelessMs: 2_000 }
const runtime = composeRuntime(env, systemSources, timing)
const app = createHttpApp(runtime.http, routeTable)

export class Session extends createSessionClass(() => runtime.session) {}
export class Principal extends createPrincipalClass(() => runtime.principal) {}
export class Catalog extends createCatalogClass(() => runtime.catalog) {}
export class McpServer extends createMcpServerClass(() => runtime.mcpServer) {}
export class PluginService extends createPluginServiceClass(() => runtime.pluginService) {}

export default {
  fetch: (request, bindings, context) => app.fetch(request, bindings, context),
  scheduled: () => runtime.daily(),
} satisfies ExportedHandler<Env>
