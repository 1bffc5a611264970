import { defined } from '#contracts/defined.ts'
import { errorCode, errorMessage } from '#contracts/errors.ts'
import type { Message } from '#contracts/message.ts'
import { defaultModelName } from '#platform/models/types.ts'
import type { ModelRequest, ModelSelection } from '#contracts/model.ts'
import type { PluginModel } from '#features/plugins/types/plugin.ts'
import type { ToolContext } from '#contracts/tool.ts'
import { failed } from '../types/plugin-output.ts'

/** The models that a plugin's code may use: a tool has those of its grant, an agent its own. */
export interface ModelTerms {
  /** The only models the code may use; any of the deployment if absent. */
  readonly models?: readonly string[] | undefined
  /** Used if the code names no model; the deployment's default if absent. */
  readonly preferred?: string | undefined
}

type Asked = Parameters<PluginModel['generate']>[0]

/** Calls models for a plugin's code within the lease of its call: each request is reserved before it is sent. */
export function createPluginModel(
  { inner }: ToolContext,
  { models, preferred }: ModelTerms,
  refuse: PluginModel['generate'],
): PluginModel {
  const { generate } = inner ?? {}
  if (!generate) return { generate: refuse }
  return {
    async generate(asked) {
      const request = toRequest(asked, models?.[0] ?? preferred)
      const { model } = request
      // A model that the code names must answer itself. A model that the host chose may be substituted within the
      // grant.
      const allowed = asked.model === undefined ? models : [asked.model]
      if (asked.model !== undefined && models && !models.includes(asked.model))
        throw failed(`not granted: the model ${asked.model} (granted are ${models.join(', ')})`)
      let hasNoPrice = false
      const mayUse = (selection: ModelSelection) => {
        hasNoPrice = selection.passedOver?.some(({ reason }) => reason === 'price') ?? false
        return !allowed || allowed.some((name) => isNamed(name, selection))
      }
      try {
        const { text, provider, model, usage } = await generate(request, mayUse)
        const { inputTokens, outputTokens } = usage
        return { text, model: `${provider}/${model}`, inputTokens, outputTokens }
      } catch (error) {
        if (errorCode(error) === 'model_not_configured' && allowed && hasNoPrice)
          throw failed(
            `model_price_unknown: A cost limit is in force and no price is known of ${model}: ` +
              'the operator can give one in ISOLA_PRICES.',
          )
        if (errorCode(error) === 'model_not_configured' && allowed)
          throw failed(
            `This deployment does not serve the model ${model}: ` +
              `${models ? `granted are ${models.join(', ')}` : 'leave it out for the default'}.`,
          )
        throw toToolError(error)
      }
    },
  }
}

/** True for the default, since the host chooses the model for it. */
const isNamed = (name: string, { provider, model }: ModelSelection): boolean =>
  name === defaultModelName || name === model || name === `${provider}/${model}`

function toRequest(asked: Asked, fallback: string | undefined): ModelRequest {
  const { system, prompt, model = fallback, maxOutputTokens, temperature } = asked
  const fields = { prompt, ...defined({ system }) }
  for (const [name, value] of Object.entries(fields))
    if (typeof value !== 'string') throw failed(`model.generate: ${name} is a text`)
  if (prompt.trim() === '') throw failed('model.generate: prompt is empty')
  if (model !== undefined && typeof model !== 'string')
    throw failed('model.generate: model is the name of a model')
  if (
    maxOutputTokens !== undefined &&
    !(Number.isSafeInteger(maxOutputTokens) && maxOutputTokens > 0)
  )
    throw failed('model.generate: maxOutputTokens is a whole number above 0')
  if (temperature !== undefined && !(temperature >= 0 && temperature <= 2))
    throw failed('model.generate: temperature is a number from 0 to 2')
  const messages: Message[] = [{ role: 'user', text: prompt, taint: ['model'] }]
  return {
    model,
    messages: system === undefined ? messages : [{ role: 'system', text: system }, ...messages],
    tools: [],
    parameters: defined({ maxOutputTokens, temperature }),
  }
}

/** Messages of a provider or the lease are safe for any caller; a bug's message is not. */
function toToolError(error: unknown): unknown {
  const code = errorCode(error)
  if (code === undefined) return error
  const transient = Object(error).transient === true
  return failed(`${code}: ${errorMessage(error)}`, transient)
}
