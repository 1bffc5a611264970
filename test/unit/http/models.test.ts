import { describe, expect, it } from 'vitest'
import { createFakeApp, errorOf } from '../../fakes/http-deps.ts'
import { problemsOf } from '../../fakes/openai-schema.ts'

describe('/v1/models', () => {
  it('lists agents first, then models, as OpenAI does', async () => {
    const body = (await (await createFakeApp().send('/v1/models')).json()) as {
      data: readonly { id: string; owned_by: string }[]
    }
    expect(problemsOf('ListModelsResponse', body)).toEqual([])
    expect(body.data.map((model) => [model.id, model.owned_by])).toEqual([
      ['orchestrator', 'isola'],
      ['code-reviewer', 'isola'],
      ['scripted/one', 'scripted'],
    ])
  })

  it.each(['orchestrator', 'scripted/one', 'scripted%2Fone'])('shows %s alone', async (id) => {
    const body = (await (await createFakeApp().send(`/v1/models/${id}`)).json()) as { id: string }
    expect(body.id).toBe(decodeURIComponent(id))
    expect(problemsOf('Model', body)).toEqual([])
  })

  it.each(['nope', 'scripted', 'scripted/one/more', '%E0%A4%A'])('does not know %s', async (id) => {
    const response = await createFakeApp().send(`/v1/models/${id}`)
    expect([response.status, (await errorOf(response)).code]).toEqual([404, 'model_not_found'])
  })
})
