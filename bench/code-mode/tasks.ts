// Twenty written tasks, each as the calls that do it: turn by turn for a model that calls its tools (calls that do not
// need each other side by side), and as code. Both are fixed; nothing here decides anything while it runs.
import { longTasks } from './long-tasks.ts'
import { shortTasks } from './short-tasks.ts'

export const tasks = [...shortTasks, ...longTasks]
