import de.bwaldvogel.mongo.MongoCollection;
import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.backend.h2.H2Backend;
import de.bwaldvogel.mongo.backend.h2.H2Collection;
import de.bwaldvogel.mongo.backend.h2.H2Database;
import de.bwaldvogel.mongo.bson.Document;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;

/**
 * Speaks MongoDB's protocol from memory, for tests: `java Server [port]` prints the URL and serves until
 * it is killed.
 */
class Server {
  private static final MVStore STORE = MVStore.open(null);

  /** The oldest version that the driver accepts. The newest that the library knows is older. */
  private static final MongoVersion VERSION = new MongoVersion() {
    public List<Integer> getVersionArray() {
      return List.of(5, 0, 0);
    }

    public int getWireVersion() {
      return 13;
    }
  };

  /** With indexes in order (of unique ones, too), and queries that use them. */
  private static final class Collection extends H2Collection {
    Collection(
        MongoDatabase database,
        String name,
        CollectionOptions options,
        MVMap<Object, Document> data,
        MVMap<String, Object> meta,
        CursorRegistry cursors) {
      super(database, name, options, data, meta, cursors);
    }

    public void addIndex(Index<Object> index) {
      super.addIndex(index);
      if (index.isUnique()) super.addIndex(new OrderedIndex(inOrder(index.getName()), index.getKeys()));
    }

    public void dropIndex(String name) {
      super.dropIndex(name);
      if (getIndexes().stream().anyMatch(index -> index.getName().equals(inOrder(name))))
        super.dropIndex(inOrder(name));
    }

    private static String inOrder(String name) {
      return name + " in order";
    }

    protected QueryResult queryDocuments(
        Document query, Document order, int skip, int limit, int batch, Document projection) {
      var conditions = new HashMap<String, List<Object>>();
      collect(query, conditions);
      var isNatural = order != null && order.containsKey("$natural");
      var best =
          (isNatural ? List.<Index<Object>>of() : getIndexes())
              .stream()
                  .map(index -> index instanceof OrderedIndex ordered ? ordered.search(conditions, order) : null)
                  .filter(Objects::nonNull)
                  .max(Comparator.comparingInt(OrderedIndex.Search::score));
      if (best.isEmpty()) return matchDocuments(query, order, skip, limit, batch, projection);
      var found = best.get().positions().map(this::getDocument).filter(Objects::nonNull);
      var sort = best.get().isOrdered() ? null : order;
      return matchDocumentsFromStream(found, query, sort, skip, limit, batch, projection);
    }

    /** What has to hold for each field, whatever else a query asks for. */
    private static void collect(Document query, Map<String, List<Object>> conditions) {
      for (var condition : query.entrySet()) {
        if (condition.getKey().equals("$and") && condition.getValue() instanceof List<?> parts)
          for (var part : parts) collect((Document) part, conditions);
        else if (!condition.getKey().startsWith("$"))
          conditions.computeIfAbsent(condition.getKey(), field -> new ArrayList<>()).add(condition.getValue());
      }
    }
  }

  private static final class Database extends H2Database {
    Database(String name, CursorRegistry cursors) {
      super(name, STORE, cursors);
    }

    protected Index<Object> openOrCreateSecondaryIndex(
        String collection, String name, List<IndexKey> keys, boolean sparse) {
      return new OrderedIndex(name, keys);
    }

    protected MongoCollection<Object> openOrCreateCollection(String name, CollectionOptions options) {
      var fullName = getDatabaseName() + "." + name;
      MVMap<Object, Document> data = STORE.openMap("databases." + fullName);
      MVMap<String, Object> meta = STORE.openMap("meta." + fullName);
      return new Collection(this, name, options, data, meta, cursorRegistry);
    }
  }

  private static final class Backend extends H2Backend {
    Backend() {
      super(STORE);
    }

    protected MongoDatabase openOrCreateDatabase(String name) {
      return new Database(name, getCursorRegistry());
    }
  }

  public static void main(String[] arguments) {
    var backend = new Backend();
    backend.version(VERSION);
    var server = new MongoServer(backend);
    server.bind("127.0.0.1", arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0);
    Runtime.getRuntime().addShutdownHook(new Thread(server::shutdownNow));
    System.out.println("mongodb://127.0.0.1:" + server.getLocalAddress().getPort());
  }
}
