// A question, a tool round trip and a stream with each client package, against a running Isola. Run by run.mjs in a
// folder where the packages are installed; `ISOLA_URL` and `ISOLA_KEY` say where. The model behind it calls the
// first tool of the client that fits and then repeats what the tool said.
import {
  Agent,
  run,
  setDefaultOpenAIClient,
  setOpenAIAPI,
  setTracingDisabled,
  tool as agentTool,
} from '@openai/agents'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { tool as chainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import OpenAI6 from 'openai6'
import * as z from 'zod'

const baseURL = `${process.env.ISOLA_URL}/v1`
const apiKey = process.env.ISOLA_KEY
const model = 'orchestrator'
const question = 'Use the tool: what is the weather in Oslo?'
const parameters = z.object({ city: z.string() })
const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const description = 'Weather of a city.'
const results = []

/** The tool ran once, in the client, and the model read what it said. */
async function check(name, work) {
  let calls = 0
  const weather = async () => {
    calls += 1
    return 'rain in Oslo'
  }
  try {
    const text = await work(weather)
    if (!/rain in Oslo/.test(text)) throw new Error(`answered ${JSON.stringify(text)}`)
    if (calls !== 1) throw new Error(`the tool ran ${calls} times`)
    results.push(true)
    console.log(`ok    ${name}`)
  } catch (error) {
    results.push(false)
    console.log(`FAIL  ${name}: ${error?.stack ?? error}`)
  }
}

for (const [version, Client] of [
  ['7', OpenAI],
  ['6', OpenAI6],
]) {
  const client = new Client({ baseURL, apiKey, maxRetries: 0 })
  for (const stream of [false, true]) {
    const name = `openai ${version} chat completions, ${stream ? 'streamed ' : ''}runTools`
    await check(name, async (weather) => {
      const called = { name: 'get_weather', description, parameters: schema, parse: JSON.parse }
      const runner = client.chat.completions.runTools({
        model,
        stream,
        messages: [{ role: 'user', content: question }],
        tools: [{ type: 'function', function: { ...called, function: weather } }],
      })
      return runner.finalContent()
    })
  }
  const tools = [
    { type: 'function', name: 'get_weather', description, parameters: schema, strict: true },
  ]
  await check(`openai ${version} responses, previous_response_id`, async (weather) => {
    const first = await client.responses.create({ model, input: question, tools })
    const call = first.output.find(({ type }) => type === 'function_call')
    const output = await weather(JSON.parse(call.arguments))
    const second = await client.responses.create({
      model,
      tools,
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output }],
    })
    return second.output_text
  })
  await check(`openai ${version} responses, streamed, stateless`, async (weather) => {
    const input = [{ role: 'user', content: question }]
    const first = await client.responses
      .stream({ model, input, tools, store: false })
      .finalResponse()
    input.push(...first.output)
    for (const item of first.output) {
      if (item.type !== 'function_call') continue
      const output = await weather(JSON.parse(item.arguments))
      input.push({ type: 'function_call_output', call_id: item.call_id, output })
    }
    const second = await client.responses
      .stream({ model, input, tools, store: false })
      .finalResponse()
    return second.output_text
  })
}

const providers = {
  '@ai-sdk/openai responses': createOpenAI({ baseURL, apiKey })(model),
  '@ai-sdk/openai chat': createOpenAI({ baseURL, apiKey }).chat(model),
  '@ai-sdk/openai-compatible': createOpenAICompatible({
    name: 'isola',
    baseURL,
    apiKey,
    includeUsage: true,
  })(model),
}
for (const [name, provider] of Object.entries(providers)) {
  const options = (weather) => ({
    model: provider,
    prompt: question,
    maxRetries: 0,
    stopWhen: stepCountIs(3),
    tools: { get_weather: tool({ description, inputSchema: parameters, execute: weather }) },
  })
  await check(
    `${name}, generateText`,
    async (weather) => (await generateText(options(weather))).text,
  )
  await check(`${name}, streamText`, async (weather) => {
    let text = ''
    for await (const piece of streamText(options(weather)).textStream) text += piece
    return text
  })
}

setTracingDisabled(true)
setDefaultOpenAIClient(new OpenAI({ baseURL, apiKey, maxRetries: 0 }))
for (const api of ['responses', 'chat_completions']) {
  for (const stream of [false, true]) {
    await check(`@openai/agents ${api}${stream ? ', streamed' : ''}`, async (weather) => {
      setOpenAIAPI(api)
      const agent = new Agent({
        name: 'Weather',
        instructions: 'Answer with the tool.',
        model,
        tools: [agentTool({ name: 'get_weather', description, parameters, execute: weather })],
      })
      const result = await run(agent, question, { stream, maxTurns: 4 })
      if (stream) await result.completed
      return result.finalOutput
    })
  }
}

/** With `streaming` set the package counts tokens itself, with a table from the network: `stream` does not. */
async function ask(chat, messages, isStreamed) {
  if (!isStreamed) return chat.invoke(messages)
  let all
  for await (const piece of await chat.stream(messages)) all = all ? all.concat(piece) : piece
  return all
}
for (const isStreamed of [false, true]) {
  await check(`@langchain/openai${isStreamed ? ', streamed' : ''}`, async (weather) => {
    const weatherTool = chainTool(weather, { name: 'get_weather', description, schema: parameters })
    const chat = new ChatOpenAI({ model, apiKey, maxRetries: 0, configuration: { baseURL } })
    const bound = chat.bindTools([weatherTool])
    const messages = [new HumanMessage(question)]
    const first = await ask(bound, messages, isStreamed)
    messages.push(first)
    for (const call of first.tool_calls) {
      const content = await weatherTool.invoke(call.args)
      messages.push(new ToolMessage({ tool_call_id: call.id, content }))
    }
    return (await ask(bound, messages, isStreamed)).content
  })
}

const passed = results.filter(Boolean).length
console.log(`${passed} passed, ${results.length - passed} failed`)
process.exitCode = passed === results.length ? 0 : 1
