// The product with distances in front of its bindings, for the benchmark only. Nothing of this is reachable in a
// deployment.
import { later, recorded } from './far.ts'
import app from '../../src/index.ts'

export {
  Catalog,
  McpServer,
  PluginRunner,
  PluginService,
  Principal,
  Session,
} from '../../src/index.ts'

export default {
  async fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === '/__distance/calls') return Response.json(recorded())
    if (pathname === '/__distance/later') {
      later(Number(searchParams.get('ms')))
      return Response.json({})
    }
    return app.fetch(request, env, context)
  },
  scheduled: app.scheduled,
} satisfies ExportedHandler<Env>
