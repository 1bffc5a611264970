// Streams one answer of a running Isola (8787 is the default port): node examples/chat.mjs "your message"
import { readFileSync } from 'node:fs'
import { OpenAI } from 'openai'

const vars = () => readFileSync(new URL('../.dev.vars', import.meta.url), 'utf8')
const apiKey = process.env.ISOLA_KEY ?? /^ISOLA_OPERATOR_KEY=(\S+)/m.exec(vars())?.[1]
const baseURL = `${process.env.ISOLA_URL ?? 'http://localhost:8787'}/v1`
const content = process.argv[2] ?? 'Store Friday under the key release, then review `eval(input)`.'
const messages = [{ role: 'user', content }]

const chat = new OpenAI({ apiKey, baseURL }).chat.completions
const stream = await chat.create({ model: 'orchestrator', messages, stream: true })
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')
