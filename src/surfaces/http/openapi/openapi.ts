import { IsolaError } from '#contracts/errors.ts'
import type { HttpDeps } from '#platform/routes/deps.ts'
import type { AddRoute } from '#platform/routes/routes.ts'

/** `GET /api/openapi.json`: docs/openapi.json, which was uploaded with the Worker as a file. */
export function addOpenApiRoute(addRoute: AddRoute, { readAsset }: HttpDeps): void {
  addRoute('/api/openapi.json', {
    GET: async () => {
      const file = await readAsset?.('/openapi.json')
      if (file?.ok)
        return new Response(file.body, { headers: { 'content-type': 'application/json' } })
      const message =
        'This deployment was uploaded without its files; the document is docs/openapi.json of the repository.'
      throw new IsolaError('request_not_found', message)
    },
  })
}
