import { type OpenedModel, type ProviderOptions, requiredApiKey, sdkSettings } from "../../models/provider.ts";

interface GooglePackage {
  createGoogleGenerativeAI(settings: object): (modelId: string) => object;
}

export async function open(sdk: unknown, modelId: string, options: ProviderOptions): Promise<OpenedModel> {
  const apiKey = requiredApiKey("google", options, "GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY");
  const provider = (sdk as GooglePackage).createGoogleGenerativeAI({ apiKey, ...sdkSettings(options) });
  return { languageModel: provider(modelId), secrets: [apiKey] };
}
