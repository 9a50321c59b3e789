/** Starts the page: words first, so that nothing is shown in the wrong language. */
import './theme/nonce'
import 'virtual:tokens.css'
import './theme/base.css'
import { createPinia } from 'pinia'
import { createApp } from 'vue'
import App from './App.vue'
import { i18n } from './locales'
import { createAppRouter } from './router'
import { usePreferences } from './shell/preferences'

const app = createApp(App).use(createPinia()).use(i18n)
await usePreferences().showLanguage()
app.use(createAppRouter()).mount('#app')
